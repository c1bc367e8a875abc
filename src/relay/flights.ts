import type { Message } from '../core/index.ts'
import type { Alarm, Alarms } from './alarms.ts'
import type { Group } from './group.ts'
import type { Lane } from './lanes.ts'

/** One batch at the broker. */
export class Flight {
  readonly lane: Lane
  readonly group: Group
  readonly batch: readonly Message[]
  readonly startedMs: number
  isOver = false
  alarm: Alarm | null = null
  readonly #controller = new AbortController()

  constructor(lane: Lane, group: Group, batch: readonly Message[], startedMs: number) {
    this.lane = lane
    this.group = group
    this.batch = batch
    this.startedMs = startedMs
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  abort(): void {
    this.#controller.abort()
  }
}

/**
 * All batches at the broker. One that is late is aborted, and counts as unknown when it then doesn't end either: its call is a zombie,
 * whatever it still says is ignored.
 */
export class Flights {
  readonly #alarms: Alarms
  readonly #abortMs: number
  readonly #giveUpMs: number
  readonly #giveUp: (flight: Flight, error: Error) => void
  readonly #flights = new Set<Flight>()
  readonly #waiters = new Set<{ readonly isDone: () => boolean; readonly resolve: () => void }>()

  constructor(alarms: Alarms, publishTimeoutMs: number, giveUp: (flight: Flight, error: Error) => void) {
    this.#alarms = alarms
    this.#abortMs = Math.ceil(publishTimeoutMs * 1.2)
    this.#giveUpMs = publishTimeoutMs
    this.#giveUp = giveUp
  }

  get messages(): number {
    let messages = 0
    for (const flight of this.#flights) messages += flight.batch.length
    return messages
  }

  add(flight: Flight): void {
    this.#flights.add(flight)
    flight.alarm = this.#alarms.in(this.#abortMs, () => this.#late(flight))
  }

  /** Its deadline is met. */
  answered(flight: Flight): void {
    this.#alarms.cancel(flight.alarm)
    flight.alarm = null
  }

  over(flight: Flight): void {
    flight.isOver = true
    this.answered(flight)
    this.#flights.delete(flight)
    for (const waiter of this.#waiters) {
      if (!waiter.isDone()) continue
      this.#waiters.delete(waiter)
      waiter.resolve()
    }
  }

  /** Aborts those of a lane, or all. */
  abort(lane?: Lane): void {
    for (const flight of this.#flights) {
      if (lane !== undefined && flight.lane !== lane) continue
      this.answered(flight)
      this.#late(flight)
    }
  }

  /** Resolves when nothing is at the broker, of one lane (whoever held it) or at all. */
  ended(laneNumber?: number): Promise<void> {
    const isDone = (): boolean => {
      for (const flight of this.#flights) if (laneNumber === undefined || flight.lane.number === laneNumber) return false
      return true
    }
    if (isDone()) return Promise.resolve()
    return new Promise((resolve) => this.#waiters.add({ isDone, resolve }))
  }

  #late(flight: Flight): void {
    flight.abort()
    flight.alarm = this.#alarms.in(this.#giveUpMs, () => {
      this.#giveUp(flight, new Error(`The publish did not end ${this.#giveUpMs} ms after it was aborted; its late answer is ignored.`))
    })
  }
}
