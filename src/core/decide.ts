import type { Message } from './message.ts'
import type { RetryPolicy } from './policy.ts'
import type { Decision } from './settlement.ts'
import type { Verdict } from './verdict.ts'

/**
 * Exponential backoff with full jitter and a cap: a random pause between 0 and
 * `min(maxDelayMs, firstDelayMs * 2^tries)`, finite for any number of tries.
 * Source: M. Brooker, "Exponential Backoff And Jitter" (AWS Architecture Blog, 2015).
 *
 * @param tries how often it was tried before, 0 or more
 * @param random a number in [0, 1)
 */
export function backoffMs(tries: number, policy: RetryPolicy, random: number): number {
  // 2^30 already exceeds any sensible cap; an unbounded exponent would end in Infinity * 0 = NaN.
  const ceiling = Math.min(policy.maxDelayMs, policy.firstDelayMs * 2 ** Math.min(tries, 30))
  return Math.round(ceiling * random)
}

/**
 * From what the publisher said to what the relay does. Pure: the caller brings the randomness.
 *
 * @param tries how often this message was sent again without an attempt being counted
 * @param random a number in [0, 1)
 */
export function decide(verdict: Verdict, message: Message, policy: RetryPolicy, tries: number, random: number): Decision {
  if (verdict.kind === 'accepted') return { kind: 'delivered', message }
  const asked = verdict.retryAfterMs === undefined ? 0 : Math.min(Math.max(verdict.retryAfterMs, 0), policy.maxDelayMs)
  switch (verdict.class) {
    case 'unavailable':
    case 'throttled':
    case 'unknown':
      return { kind: 'again', message, refusal: verdict, delayMs: Math.max(asked, backoffMs(tries, policy, random)) }
    case 'permanent':
      return { kind: 'failed', message, refusal: verdict, attempt: message.attempt + 1 }
    case 'transient': {
      const attempt = message.attempt + 1
      if (attempt >= policy.maxAttempts) return { kind: 'failed', message, refusal: verdict, attempt }
      return { kind: 'retry', message, refusal: verdict, attempt, delayMs: Math.max(asked, backoffMs(message.attempt, policy, random)) }
    }
  }
}
