import type { Clock } from '../core/index.ts'

export interface Alarm {
  readonly atMs: number
  readonly ring: () => void
}

/** A reason of one's own: without one, each abort makes an error with a stack. */
const earlier = 'there is an earlier alarm'

/** Many moments to come, one sleeper. An alarm that was cancelled keeps nothing in memory. */
export class Alarms {
  readonly #clock: Clock
  readonly #set = new Set<Alarm>()
  #sleep: { readonly atMs: number; readonly controller: AbortController } | null = null
  #isEnded = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  in(ms: number, ring: () => void): Alarm {
    const alarm: Alarm = { atMs: this.#clock.monotonicMs() + ms, ring }
    if (this.#isEnded) return alarm
    this.#set.add(alarm)
    if (this.#sleep === null || alarm.atMs < this.#sleep.atMs) this.#arm(alarm.atMs)
    return alarm
  }

  cancel(alarm: Alarm | null): void {
    if (alarm !== null) this.#set.delete(alarm)
  }

  leftMs(alarm: Alarm): number {
    return Math.max(0, Math.ceil(alarm.atMs - this.#clock.monotonicMs()))
  }

  /** Nothing rings any more. */
  end(): void {
    this.#isEnded = true
    this.#set.clear()
    this.#sleep?.controller.abort()
    this.#sleep = null
  }

  #arm(atMs: number): void {
    this.#sleep?.controller.abort(earlier)
    const sleep = { atMs, controller: new AbortController() }
    this.#sleep = sleep
    // Timers may fire a part of a millisecond early.
    const ms = Math.max(0, Math.ceil(atMs - this.#clock.monotonicMs()))
    void this.#clock.sleep(ms, sleep.controller.signal).then(() => {
      if (this.#sleep === sleep) this.#ring()
    })
  }

  #ring(): void {
    const now = this.#clock.monotonicMs()
    const due: Alarm[] = []
    for (const alarm of this.#set) if (alarm.atMs <= now) due.push(alarm)
    // An earlier one may have cancelled a later one.
    for (const alarm of due) if (this.#set.delete(alarm)) alarm.ring()
    if (this.#isEnded) return
    this.#sleep = null
    let next = Infinity
    for (const alarm of this.#set) next = Math.min(next, alarm.atMs)
    if (next !== Infinity) this.#arm(next)
  }
}
