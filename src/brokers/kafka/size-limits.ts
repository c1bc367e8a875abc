// The largest batch that a topic takes, in bytes on the wire: the publisher's own limit, and the topic's as soon as a refusal made it worth asking for.
import type { Clock, Refused } from '../../core/index.ts'
import type { Call } from './call.ts'
import type { Brokers } from './brokers.ts'

/** An operator may raise a topic's limit and then send a failed message again. */
const LEARNED_FOR_MS = 1_000

export class SizeLimits {
  readonly #own: number
  readonly #isCompressed: boolean
  readonly #brokers: Brokers
  readonly #clock: Clock
  readonly #learned = new Map<string, { readonly bytes: number; readonly untilMs: number }>()

  constructor(own: number, isCompressed: boolean, brokers: Brokers, clock: Clock) {
    this.#own = own
    this.#isCompressed = isCompressed
    this.#brokers = brokers
    this.#clock = clock
  }

  of(topic: string): number {
    const learned = this.#learned.get(topic)
    if (learned === undefined) return this.#own
    if (learned.untilMs >= this.#clock.monotonicMs()) return Math.min(this.#own, learned.bytes)
    this.#learned.delete(topic)
    return this.#own
  }

  /** Asks for the topic's limit after a batch of `bytes` was refused. True: it is known, and the batch is above it. */
  async learn(topic: string, bytes: number, call: Call): Promise<boolean> {
    // The broker measures what is compressed; before that nobody knows.
    if (this.#isCompressed) return false
    try {
      const answer = await call.within(this.#brokers.ask((link) => link.topicLimit(topic)))
      const limit = answer?.value ?? null
      if (limit === null || bytes <= limit) return false
      this.#learned.set(topic, { bytes: limit, untilMs: this.#clock.monotonicMs() + LEARNED_FOR_MS })
      return true
    } catch {
      return false
    }
  }

  refusal(topic: string, bytes: number): Refused {
    const limit = this.of(topic)
    const measured = `${bytes} bytes on the wire, with key and headers`
    const detail =
      bytes <= limit
        ? `${measured}${this.#isCompressed ? ' before compression' : ''}: more than topic ${topic} takes (its max.message.bytes)`
        : limit < this.#own
          ? `${measured}; topic ${topic} takes ${limit} (its max.message.bytes)`
          : `${measured}; the limit is ${limit} (maxRequestBytes of the publisher)`
    return { kind: 'refused', class: 'permanent', code: 'MESSAGE_TOO_LARGE', detail }
  }
}
