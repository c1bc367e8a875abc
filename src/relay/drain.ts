import type { Clock } from '../core/index.ts'
import type { Session } from './session.ts'

export interface Drained {
  /** Messages that this relay delivered. */
  readonly delivered: number
  /** Undelivered messages that are left; an estimate where counting is costly. */
  readonly backlog: number
}

export interface DrainParts {
  readonly clock: Clock
  readonly maxMs: number
  readonly start: () => Promise<void>
  readonly stop: () => Promise<unknown>
  readonly session: () => Session | null
  readonly stopAsked: AbortSignal
  readonly done: Promise<void>
  readonly delivered: () => number
}

const firstLookMs = 5
const longestLookMs = 200

/** Runs until nothing is in hand and the source has nothing left, then stops. */
export async function drain(parts: DrainParts): Promise<Drained> {
  const { clock, maxMs, stopAsked } = parts
  const endMs = clock.monotonicMs() + maxMs
  const failing = parts.done.then(
    () => {},
    () => {},
  )
  const started = parts.start()
  await Promise.race([started, clock.sleep(maxMs, stopAsked), failing])
  let backlog = 0
  let deliveredThen = parts.delivered()
  const look = async (): Promise<boolean> => {
    const session = parts.session()
    if (session === null) return false
    try {
      deliveredThen = parts.delivered()
      backlog = (await session.calls.lag()).backlog
      return backlog === 0 && session.isIdle
    } catch {
      // The connection is lost: another session, or the end.
      return false
    }
  }
  let pauseMs = firstLookMs
  while (!stopAsked.aborted && clock.monotonicMs() < endMs) {
    // Asking is for when nothing is in hand; before that the answer is known.
    if (parts.session()?.isIdle === true && (await look())) break
    await Promise.race([clock.sleep(Math.min(pauseMs, endMs - clock.monotonicMs()), stopAsked), failing])
    pauseMs = Math.min(pauseMs * 2, longestLookMs)
  }
  if (backlog > 0 || parts.session()?.isIdle === false) await look()
  await parts.stop()
  await parts.done
  const delivered = parts.delivered()
  return { delivered, backlog: Math.max(0, backlog - (delivered - deliveredThen)) }
}
