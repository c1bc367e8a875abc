/** How the payload's bytes are to be read; follows the type of the outbox's payload column. */
export type ContentType = 'application/json' | 'text/plain' | 'application/octet-stream'

/**
 * One record to deliver: what flows from a source through the dispatcher to a publisher.
 * Immutable. The payload is bytes in, bytes out: nothing on the way parses it or writes it anew.
 */
export interface Message {
  /** Event id (UUID), made by the writer; what consumers dedupe by. */
  readonly id: string
  /** Place in the outbox; exact beyond 2^53. The only thing that messages are ordered by. */
  readonly seq: bigint
  /** Slice of the keys that this message belongs to. */
  readonly lane: number
  /** Where the broker should put it: the row's own topic, or the aggregate's type. */
  readonly topic: string
  /** The ordering key: the row's override, else the aggregate's id. `null` means no order; `''` is a key. */
  readonly key: string | null
  /** Name of the domain event. */
  readonly type: string
  readonly aggregateType: string
  readonly aggregateId: string | null
  /** `null` is a tombstone; no bytes at all is an empty payload. */
  readonly payload: Uint8Array | null
  readonly contentType: ContentType
  /** The writer's own headers: a flat map of strings, `null` when there are none. */
  readonly headers: Readonly<Record<string, string>> | null
  /** Start of the writer's transaction: RFC 3339, UTC, microseconds. Information only, never order. */
  readonly createdAt: string
  /** Times that this message was refused before; 0 at the first try. */
  readonly attempt: number
}

/** Identifies what blocks together: messages of one topic and key. A message without a key blocks nobody but itself. */
export function blockOf(message: Message): string {
  return message.key === null ? `${message.topic}\u0000\u0000${message.id}` : `${message.topic}\u0000${message.key}`
}
