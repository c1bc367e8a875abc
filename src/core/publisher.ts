import type { Message } from './message.ts'
import type { Verdict } from './verdict.ts'

/**
 * Puts messages on a broker.
 *
 * The law of this contract:
 * - The relay calls `publish` for one (lane, group) at a time; calls for different lanes or groups overlap.
 * - A batch is in the order of `seq`. Within it, a message must not be accepted while an earlier one of the
 *   same topic and key is not: `order: 'batch'` promises that; with `order: 'single'` the relay never puts two messages of
 *   one topic and key into one batch.
 * - The answer has one verdict a message, at the message's index. Throwing means: nothing is known about any of them.
 * - `signal` aborts when the relay stops waiting. The outcome of what was already sent is then unknown; say so, or throw.
 * - `publish` ends by itself within its own deadline; it never hangs for ever.
 */
export interface Publisher {
  /** For people: `kafka`. */
  readonly name: string
  readonly order: 'batch' | 'single'
  readonly limits: PublisherLimits
  /** Splits a lane's messages into independent streams (Kafka: topic and partition). Without it a lane is one stream. */
  group?(message: Message): string
  publish(batch: readonly Message[], context: PublishContext): Promise<Verdict[]>
  /** Present when the broker can refuse late bytes of an earlier holder of the lane. */
  readonly fence?: Fence
  /** Can it publish now? Rejects with an OutriderError that names the address and the next step. */
  check(): Promise<void>
  /** Ends all connections. May be called twice, before any use, and while `publish` is under way. */
  close(): Promise<void>
}

export interface PublishContext {
  readonly lane: number
  readonly signal: AbortSignal
}

export interface PublisherLimits {
  /** Longest time that one `publish` takes, in milliseconds. The relay's lease must outlive it. */
  readonly publishTimeoutMs: number
}

/**
 * Makes a lane's earlier bytes unacceptable to the broker.
 * At a take-over of a lane, and after an outcome that stayed unknown, the relay calls `advance` with what the lane's row holds,
 * stores what comes back durably, then calls `enter`, and only then publishes again for that lane.
 */
export interface Fence {
  /** The next fence after `stored` (null: the lane never had one). Sends nothing that could be refused later. */
  advance(lane: number, stored: Uint8Array | null): Promise<Uint8Array>
  /** From now on this lane publishes under `fence`, which is stored. */
  enter(lane: number, fence: Uint8Array): void
}
