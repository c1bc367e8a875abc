// Takes lanes, keeps them by a timer, gives them back. The end of a lease is counted from before it was asked for, so that this
// relay never believes in a lane for longer than the source does.
import type { Clock, Grant } from '../core/index.ts'
import { Lane } from './lanes.ts'
import type { Lanes } from './lanes.ts'
import type { Settings } from './options.ts'
import type { SourceCalls } from './source-calls.ts'

const longestAcquireMs = 1000

export interface LaneKeeperParts {
  readonly settings: Settings
  readonly calls: SourceCalls
  readonly lanes: Lanes
  /** Number of lanes of the source. */
  readonly count: number
  readonly acquired: (lane: Lane) => void
  readonly renewed: (lane: Lane) => void
  readonly failed: (error: unknown) => void
}

export class LaneKeeper {
  readonly #parts: LaneKeeperParts
  readonly #clock: Clock
  readonly #renewMs: number
  readonly #acquireMs: number
  #renewAtMs: number
  #acquireAtMs: number
  #isRenewing = false
  #wake = new AbortController()
  #isAcquiring = true
  #isStopped = false
  /** Calls that may concern a lane that was dropped: it isn't acquired again before they end. */
  #dropping: Promise<unknown> | null = null
  /** Dropped here; the source may believe them to be ours still, and grants only what it doesn't. */
  #toRelease: number[] = []

  constructor(parts: LaneKeeperParts) {
    this.#parts = parts
    this.#clock = parts.settings.clock
    this.#renewMs = parts.settings.leaseMs / 3
    this.#acquireMs = Math.min(this.#renewMs, longestAcquireMs)
    this.#renewAtMs = this.#clock.monotonicMs() + this.#renewMs
    this.#acquireAtMs = this.#clock.monotonicMs()
  }

  /** Resolves after `stop`, or when the source failed. */
  async run(): Promise<void> {
    try {
      while (!this.#isStopped) {
        if (this.#clock.monotonicMs() >= this.#renewAtMs) await this.#renew()
        if (this.#lacksLanes() && this.#clock.monotonicMs() >= this.#acquireAtMs) await this.#acquire()
        await this.#rest()
      }
    } catch (error) {
      this.#parts.failed(error)
    }
  }

  /** Renews at once. */
  renewNow(): void {
    if (this.#isRenewing) return
    this.#renewAtMs = this.#clock.monotonicMs()
    this.#wake.abort()
  }

  dropped(lane: Lane): void {
    this.#dropping = Promise.all([this.#dropping, this.#parts.calls.ended()])
    this.#toRelease.push(lane.number)
    this.#wake.abort()
  }

  /** Keeps what it has and takes nothing more. */
  stopAcquiring(): void {
    this.#isAcquiring = false
  }

  stop(): void {
    this.#isStopped = true
    this.#wake.abort()
  }

  /** Gives all lanes back, for others to take at once. */
  async release(): Promise<void> {
    const lanes = this.#parts.lanes.all()
    const numbers = [...lanes.map((lane) => lane.number), ...this.#toRelease]
    if (numbers.length === 0) return
    await this.#parts.calls.release(numbers)
    for (const lane of lanes) this.#parts.lanes.released(lane)
  }

  #lacksLanes(): boolean {
    return this.#isAcquiring && this.#parts.lanes.size < this.#parts.count
  }

  async #rest(): Promise<void> {
    if (this.#isStopped) return
    if (this.#wake.signal.aborted) this.#wake = new AbortController()
    const atMs = this.#lacksLanes() ? Math.min(this.#renewAtMs, this.#acquireAtMs) : this.#renewAtMs
    const ms = Math.ceil(atMs - this.#clock.monotonicMs())
    if (ms > 0) await this.#clock.sleep(ms, this.#wake.signal)
  }

  async #renew(): Promise<void> {
    const { calls, lanes, settings } = this.#parts
    const held = lanes.all()
    const askedMs = this.#clock.monotonicMs()
    this.#renewAtMs = askedMs + this.#renewMs
    if (held.length === 0) return
    this.#isRenewing = true
    const renewing = calls.renew(settings.leaseMs)
    const late = new AbortController()
    const lastMs = Math.max(this.#renewMs, Math.min(...held.map((lane) => lane.leaseEndsMs)) - askedMs)
    try {
      let isAnswered = false
      const answered = renewing.then(() => {
        isAnswered = true
      })
      await Promise.race([answered, this.#clock.sleep(lastMs, late.signal)])
      // After the process stood still, the timer rings before an answer that has long been there is read.
      if (!isAnswered) await new Promise<void>((resolve) => setImmediate(resolve))
      if (!isAnswered) this.#dropEnded()
      await answered
      const { lost } = await renewing
      for (const lane of held) {
        if (lane.isGone) continue
        if (lost.includes(lane.number)) lanes.drop(lane, 'token')
        else lane.leaseEndsMs = askedMs + settings.leaseMs
      }
    } finally {
      late.abort()
      this.#isRenewing = false
    }
    for (const lane of lanes.all()) this.#parts.renewed(lane)
  }

  /** Their leases ran out while a renewal got no answer. */
  #dropEnded(): void {
    const now = this.#clock.monotonicMs()
    for (const lane of this.#parts.lanes.all()) if (lane.leaseEndsMs <= now) this.#parts.lanes.drop(lane, 'lease')
  }

  async #acquire(): Promise<void> {
    const { calls, lanes, settings, count } = this.#parts
    this.#acquireAtMs = this.#clock.monotonicMs() + this.#acquireMs
    if (this.#dropping !== null) {
      await this.#dropping
      this.#dropping = null
      const numbers = this.#toRelease
      this.#toRelease = []
      if (numbers.length > 0) await calls.release(numbers)
    }
    if (!this.#lacksLanes()) return
    const askedMs = this.#clock.monotonicMs()
    const grants: readonly Grant[] = await calls.acquire({ leaseMs: settings.leaseMs, max: count - lanes.size })
    for (const grant of grants) {
      const lane = new Lane(grant, askedMs + settings.leaseMs)
      lanes.add(lane)
      if (this.#isAcquiring) this.#parts.acquired(lane)
    }
  }
}
