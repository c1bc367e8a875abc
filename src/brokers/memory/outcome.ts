/**
 * What the memory broker does with one message, when told to.
 * - `ok`: stored and confirmed.
 * - `throttled`, `transient`, `permanent`, `unavailable`: not stored, refused with that class.
 * - `hang`: not stored, no answer until the publish is given up.
 * - `lose-answer`: stored, but the answer never comes: the verdict is `unknown`.
 * - `land-late`: no answer, the verdict is `unknown`; stored when `land()` is called, as a request that was on its way.
 */
export type Outcome = 'ok' | 'throttled' | 'transient' | 'permanent' | 'unavailable' | 'hang' | 'lose-answer' | 'land-late'

/** One record of the memory broker. */
export interface MemoryRecord {
  readonly topic: string
  readonly partition: number
  /** Place in the partition, from 0. */
  readonly offset: number
  readonly key: string | null
  /** The payload's bytes; null is a tombstone. */
  readonly value: Uint8Array | null
  /** As on the wire: `eventId`, `eventType`, `eventTime`, `aggregateType`, `content-type`, and the writer's own. */
  readonly headers: Readonly<Record<string, string>>
}
