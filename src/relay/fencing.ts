// Moves a lane's fence on before anything more is published for it: advance, store durably, enter. In that order, or the broker
// takes new messages for repeats of old ones.
import { backoffMs } from '../core/index.ts'
import type { Fence, Report, RetryPolicy } from '../core/index.ts'
import type { Flights } from './flights.ts'
import type { Lane, Lanes } from './lanes.ts'
import type { Settings } from './options.ts'
import type { SourceCalls } from './source-calls.ts'

/** What has healed must go on soon. */
const longestPauseMs = 2000

export interface FencingParts {
  readonly settings: Settings
  readonly calls: SourceCalls
  readonly lanes: Lanes
  readonly flights: Flights
  readonly report: Report
  readonly ready: (lane: Lane) => void
  readonly failed: (error: unknown) => void
}

export class Fencing {
  readonly #parts: FencingParts
  readonly #policy: RetryPolicy
  readonly #running = new Set<Lane>()

  constructor(parts: FencingParts) {
    this.#parts = parts
    this.#policy = { ...parts.settings.policy, maxDelayMs: Math.min(parts.settings.policy.maxDelayMs, longestPauseMs) }
  }

  /** Until it is done, the lane is not `ready`. */
  begin(lane: Lane, reason: 'acquired' | 'unknown'): void {
    if (lane.isGone || this.#running.has(lane)) return
    lane.state = 'fencing'
    this.#running.add(lane)
    void this.#run(lane, reason).finally(() => this.#running.delete(lane))
  }

  async #run(lane: Lane, reason: 'acquired' | 'unknown'): Promise<void> {
    try {
      // Also what an earlier holder in this process has under way: one publish of a (lane, group) at a time.
      await this.#parts.flights.ended(lane.number)
      const { fence } = this.#parts.settings.publisher
      if (fence !== undefined && !(await this.#moveOn(lane, fence, reason))) return
      if (lane.isGone) return
      lane.state = 'ready'
      this.#parts.ready(lane)
    } catch (bug) {
      this.#parts.failed(bug)
    }
  }

  async #moveOn(lane: Lane, fence: Fence, reason: 'acquired' | 'unknown'): Promise<boolean> {
    const { settings, report } = this.#parts
    for (let tries = 0; !lane.isGone; tries++) {
      try {
        const next = await this.#inTime(lane, fence.advance(lane.number, lane.fence))
        if (lane.isGone) return false
        if (!(await this.#store(lane, next))) return false
        fence.enter(lane.number, next)
        report({ name: 'lane.fenced', lane: lane.number, reason })
        return true
      } catch (thrown) {
        if (lane.isGone) return false
        const error = thrown instanceof Error ? thrown : new Error(String(thrown))
        const retryInMs = backoffMs(tries, this.#policy, settings.random())
        report({ name: 'fence.failed', lane: lane.number, error, retryInMs })
        await settings.clock.sleep(retryInMs, lane.signal)
      }
    }
    return false
  }

  async #store(lane: Lane, fence: Uint8Array): Promise<boolean> {
    const { calls, lanes } = this.#parts
    let isStored: boolean
    try {
      isStored = await calls.storeFence(lane.number, fence)
    } catch {
      // The session ends.
      return false
    }
    if (lane.isGone) return false
    if (!isStored) {
      lanes.drop(lane, 'token')
      return false
    }
    lane.fence = fence
    return true
  }

  /** A publisher that doesn't answer is asked again. */
  async #inTime(lane: Lane, advancing: Promise<Uint8Array>): Promise<Uint8Array> {
    const { settings } = this.#parts
    const ended = new AbortController()
    const timeoutMs = settings.publisher.limits.publishTimeoutMs * 2
    const late = settings.clock.sleep(timeoutMs, AbortSignal.any([ended.signal, lane.signal])).then(() => null)
    try {
      const next = await Promise.race([advancing, late])
      if (next !== null) return next
      throw new Error(`${settings.publisher.name} gave no new fence for lane ${lane.number} within ${timeoutMs} ms.`)
    } finally {
      ended.abort()
      // A failure after the time is nobody's.
      advancing.catch(() => {})
    }
  }
}
