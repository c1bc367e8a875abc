// From a publisher's answer to what is to be done with each message of a batch. Pure.
import { blockOf, decide } from '../core/index.ts'
import type { Decision, Message, Refused, RetryPolicy, Verdict } from '../core/index.ts'

export type Refusal = Extract<Decision, { readonly kind: 'retry' | 'failed' }>

export interface Sorted {
  /** To settle. */
  readonly accepted: readonly Message[]
  /** To send again, in order. */
  readonly again: readonly Message[]
  /** The first refused message of each (topic, key). */
  readonly refused: readonly Refusal[]
  /** They wait behind one of `refused`; not their own fault. */
  readonly behind: readonly Message[]
  /** Why the first one is sent again. */
  readonly why: Refused | null
  readonly delayMs: number
  /** The pause that the broker asked for. */
  readonly askedMs: number
  /** May some of them have been accepted although nobody said so? */
  readonly isUnknown: boolean
  /** Did somebody answer, and is it the messages' own fault? */
  readonly isReachable: boolean
  readonly isThrottled: boolean
  /** Accepted although an earlier one of the same topic and key was refused: the publisher breaks its contract. */
  readonly disordered: number
}

const none: readonly never[] = []

export function isAllAccepted(verdicts: readonly Verdict[]): boolean {
  for (const verdict of verdicts) if (verdict.kind !== 'accepted') return false
  return true
}

/**
 * @param verdicts as many as messages
 * @param tries times that the group was sent again before
 * @param random one number for the whole batch: its messages go on together
 */
export function sortVerdicts(
  batch: readonly Message[],
  verdicts: readonly Verdict[],
  policy: RetryPolicy,
  tries: number,
  random: number,
): Sorted {
  const accepted: Message[] = []
  const again: Message[] = []
  const refused: Refusal[] = []
  const behind: Message[] = []
  // What became of the first message of a block that was not accepted.
  const states = new Map<string, 'again' | 'unknown' | 'refused'>()
  let why: Refused | null = null
  let delayMs = 0
  let askedMs = 0
  let isUnknown = false
  let isThrottled = true
  let disordered = 0
  for (let i = 0; i < batch.length; i++) {
    const message = batch[i]
    const verdict = verdicts[i]
    if (message === undefined || verdict === undefined) continue
    const decision = decide(verdict, message, policy, tries, random)
    const block = blockOf(message)
    const state = states.get(block)
    if (decision.kind === 'delivered') {
      accepted.push(message)
      if (state !== undefined && state !== 'unknown') disordered++
      continue
    }
    const isUnsure = decision.refusal.class === 'unknown'
    if (isUnsure) isUnknown = true
    if (state === 'refused') {
      behind.push(message)
      continue
    }
    // An earlier one of its key is sent again, so this one is too, and shows then whether it is refused still.
    if (decision.kind === 'again' || state !== undefined) {
      again.push(message)
      if (state === undefined) states.set(block, isUnsure ? 'unknown' : 'again')
      if (decision.kind !== 'again') continue
      why ??= decision.refusal
      delayMs = Math.max(delayMs, decision.delayMs)
      askedMs = Math.max(askedMs, Math.min(Math.max(decision.refusal.retryAfterMs ?? 0, 0), policy.maxDelayMs))
      if (decision.refusal.class !== 'throttled') isThrottled = false
      continue
    }
    states.set(block, 'refused')
    refused.push(decision)
  }
  const isReachable = accepted.length > 0 || refused.length > 0
  return { accepted, again, refused, behind, why, delayMs, askedMs, isUnknown, isReachable, isThrottled, disordered }
}

/** Nothing is known of any of them. */
export function sortUnknown(batch: readonly Message[], detail: string, policy: RetryPolicy, tries: number, random: number): Sorted {
  const why: Refused = { kind: 'refused', class: 'unknown', code: 'NO_ANSWER', detail }
  const first = batch[0]
  const decision = first === undefined ? null : decide(why, first, policy, tries, random)
  const delayMs = decision?.kind === 'again' ? decision.delayMs : 0
  return {
    accepted: none,
    again: batch,
    refused: none,
    behind: none,
    why,
    delayMs,
    askedMs: 0,
    isUnknown: true,
    isReachable: false,
    isThrottled: false,
    disordered: 0,
  }
}

/** The same message with the refusals that it has met. */
export function withAttempt(message: Message, attempt: number): Message {
  return {
    id: message.id,
    seq: message.seq,
    lane: message.lane,
    topic: message.topic,
    key: message.key,
    type: message.type,
    aggregateType: message.aggregateType,
    aggregateId: message.aggregateId,
    payload: message.payload,
    contentType: message.contentType,
    headers: message.headers,
    createdAt: message.createdAt,
    attempt,
  }
}
