import type { Events, EventType, ReadPayload } from '../core/index.ts'

/** What every message has, whatever its type. */
export interface MessageFacts {
  /** Event id: the same for every delivery of the event, and what `once` dedupes by. */
  readonly id: string
  readonly key: string | null
  /** All headers as text; of several with one name the last. */
  readonly headers: Readonly<Record<string, string>>
  /** Start of the writer's transaction, RFC 3339; null when the header is missing. */
  readonly time: string | null
  readonly aggregateType: string | null
  readonly topic: string | null
  /** `topic/partition/offset`, null when the client doesn't tell. */
  readonly position: string | null
  /** Version of the payload's shape as it was written; 1 when the header is missing. */
  readonly version: number
}

/** An event of the reader's own catalogue, its payload checked by its schema. */
export type KnownMessage<E extends Events> = {
  [N in EventType<E>]: MessageFacts & { readonly type: N; readonly payload: ReadPayload<E[N]> }
}[EventType<E>]

/** An event that this reader doesn't know, or whose version is newer than the one it knows. It decides what to do. */
export interface UnknownMessage extends MessageFacts {
  readonly type: 'unknown'
  readonly eventType: string
  readonly reason: 'type' | 'version'
  /** The value as it was received. */
  readonly payload: unknown
}

/** A record without a value: the key is to be forgotten. */
export interface TombstoneMessage extends MessageFacts {
  readonly type: 'tombstone'
  readonly eventType: string
  readonly payload: null
}

/** What `read` makes of a record: compare `type`. */
export type InboxMessage<E extends Events> = KnownMessage<E> | UnknownMessage | TombstoneMessage
