// Asks the source for as much as there is room for, one read at a time; the next read goes on while the broker works.
import type { Message } from '../core/index.ts'
import type { Lane, Lanes } from './lanes.ts'
import type { Settings } from './options.ts'
import type { SourceCalls } from './source-calls.ts'

export interface ReaderParts {
  readonly settings: Settings
  readonly calls: SourceCalls
  readonly lanes: Lanes
  readonly offer: (messages: readonly Message[], asked: ReadonlyMap<number, Lane>) => void
  readonly failed: (error: unknown) => void
}

/** A reason of one's own: without one, each abort makes an error with a stack. */
const askAgain = 'the source is asked again'

export class Reader {
  readonly #parts: ReaderParts
  readonly #settings: Settings
  /** With less room than this in a lane that is busy, a read would bring crumbs. */
  readonly #leastRoom: number
  #asked: ReadonlyMap<number, Lane> | null = null
  #reading: AbortController | null = null
  #wake: (() => void) | null = null
  #isStopped = false

  constructor(parts: ReaderParts) {
    this.#parts = parts
    this.#settings = parts.settings
    this.#leastRoom = Math.max(1, Math.min(parts.settings.batchSize, Math.floor(parts.settings.maxInFlight / 2)))
  }

  /** Resolves when it was stopped, or when the source failed. */
  async run(): Promise<void> {
    try {
      while (!this.#isStopped) {
        const wantsMore = this.#parts.lanes.all().some((lane) => this.#wantsMore(lane))
        if (wantsMore) await this.#read()
        else await new Promise<void>((resolve) => (this.#wake = resolve))
      }
    } catch (error) {
      this.#parts.failed(error)
    }
  }

  /** This lane may have room now. */
  roomGrew(lane: Lane): void {
    if (!this.#wantsMore(lane)) return
    this.#wake?.()
    this.#wake = null
    if (this.#asked !== null && this.#asked.get(lane.number) !== lane) this.#reading?.abort(askAgain)
  }

  /** A lane that was asked for is lost: what the read brings for it is nobody's. */
  interrupt(): void {
    this.#reading?.abort(askAgain)
  }

  stop(): void {
    this.#isStopped = true
    this.#reading?.abort(askAgain)
    this.#wake?.()
  }

  #roomOf(lane: Lane): number {
    return lane.state === 'ready' ? this.#settings.maxInFlight - lane.held : 0
  }

  #wantsMore(lane: Lane): boolean {
    const room = this.#roomOf(lane)
    // Blocked messages don't move: what is left must do.
    return room >= this.#leastRoom || (room > 0 && lane.held === lane.blockedMessages)
  }

  async #read(): Promise<void> {
    const asked = new Map<number, Lane>()
    const room = new Map<number, number>()
    for (const lane of this.#parts.lanes.all()) {
      const wanted = this.#roomOf(lane)
      if (wanted <= 0) continue
      asked.set(lane.number, lane)
      room.set(lane.number, wanted)
    }
    const reading = new AbortController()
    this.#asked = asked
    this.#reading = reading
    let messages: Message[]
    try {
      messages = await this.#parts.calls.read({ room, maxBytes: this.#settings.maxBytes, signal: reading.signal })
    } finally {
      this.#asked = null
      this.#reading = null
    }
    if (messages.length > 0) {
      await this.#pause(messages)
      this.#parts.offer(messages, asked)
    } else if (!reading.signal.aborted) {
      // A source that only looks and never waits must not keep everything else from running.
      await new Promise<void>((resolve) => setImmediate(resolve))
    }
  }

  async #pause(messages: readonly Message[]): Promise<void> {
    if (this.#settings.pauses === null) return
    try {
      await this.#settings.pauses('read', messages)
    } catch {
      // A test's own affair.
    }
  }
}
