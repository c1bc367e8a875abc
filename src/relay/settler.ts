// Records what was accepted: one settlement at a time, with all that was accepted meanwhile, for all lanes in one call.
import type { Message, Settlement } from '../core/index.ts'
import type { Lane, Lanes } from './lanes.ts'
import type { Pauses } from './options.ts'
import type { SourceCalls } from './source-calls.ts'

interface Accepted {
  readonly lane: Lane
  readonly messages: readonly Message[]
}

export interface SettlerParts {
  readonly calls: SourceCalls
  readonly lanes: Lanes
  readonly pauses: Pauses | null
  /** The lanes have room again. */
  readonly settled: (lanes: ReadonlySet<Lane>, messages: number) => void
  readonly failed: (error: unknown) => void
}

export class Settler {
  readonly #parts: SettlerParts
  #pending: Accepted[] = []
  #isRunning = false
  #waiters: (() => void)[] = []

  constructor(parts: SettlerParts) {
    this.#parts = parts
  }

  add(lane: Lane, messages: readonly Message[]): void {
    this.#pending.push({ lane, messages })
    if (!this.#isRunning) {
      this.#isRunning = true
      void this.#run()
    }
  }

  /** Resolves when all that was added is settled, or can't be any more. */
  ended(): Promise<void> {
    return this.#isRunning ? new Promise((resolve) => this.#waiters.push(resolve)) : Promise.resolve()
  }

  async #run(): Promise<void> {
    try {
      // What was accepted in the same turn is settled together.
      await Promise.resolve()
      while (this.#pending.length > 0) await this.#settle()
    } catch (error) {
      this.#pending = []
      this.#parts.failed(error)
    }
    this.#isRunning = false
    const waiters = this.#waiters
    this.#waiters = []
    for (const resolve of waiters) resolve()
  }

  async #settle(): Promise<void> {
    const { calls, lanes, pauses } = this.#parts
    if (pauses !== null) await this.#pause(pauses)
    // Of a lane that was lost nothing is said any more.
    const batch = this.#pending.filter(({ lane }) => !lane.isGone)
    this.#pending = []
    if (batch.length === 0) return
    const settlements: Settlement[] = []
    for (const { messages } of batch) for (const message of messages) settlements.push({ kind: 'delivered', message })
    const { lost } = await calls.settle(settlements)
    const lostLanes = new Set(lost)
    const touched = new Set<Lane>()
    let settled = 0
    for (const { lane, messages } of batch) {
      if (lane.isGone) continue
      if (lostLanes.has(lane.number)) lanes.drop(lane, 'token')
      else {
        lane.held -= messages.length
        lane.accepted -= messages.length
        settled += messages.length
        touched.add(lane)
      }
    }
    this.#parts.settled(touched, settled)
  }

  async #pause(pauses: Pauses): Promise<void> {
    try {
      await pauses(
        'settle',
        this.#pending.flatMap(({ messages }) => messages),
      )
    } catch {
      // A test's own affair.
    }
  }
}
