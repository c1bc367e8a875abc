/**
 * Why a message was not accepted.
 * - `unavailable`: the broker, the connection or the partition's leader is down; never counts as an attempt.
 * - `throttled`: try later; costs nothing but time.
 * - `transient`: this message was refused and may be accepted later; counts as an attempt.
 * - `unknown`: no answer in time; it may have been accepted. Sent again from the first unsettled message of its key.
 * - `permanent`: this message can't be accepted as it is (too large, refused by schema).
 */
export type RefusalClass = 'unavailable' | 'throttled' | 'transient' | 'unknown' | 'permanent'

/** The broker confirmed the message. `position` is the broker's own (for Kafka `topic/partition/offset`), null if it gives none. */
export interface Accepted {
  readonly kind: 'accepted'
  readonly position: string | null
}

export interface Refused {
  readonly kind: 'refused'
  readonly class: RefusalClass
  /** Short and stable, for people and metrics: `MESSAGE_TOO_LARGE`. */
  readonly code: string
  /** The facts: what was refused by whom, with the numbers. */
  readonly detail: string
  /** The broker asked for this pause, in milliseconds. */
  readonly retryAfterMs?: number
}

/** What a publisher says of one message. */
export type Verdict = Accepted | Refused
