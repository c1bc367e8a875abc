import { issuesText, OutriderError } from '../core/index.ts'
import type { AnyEvent, Events, EventType, ReadPayload } from '../core/index.ts'
import type { MemoryOutbox } from '../databases/memory/index.ts'
import type { OutboxNames, PayloadType } from '../databases/postgres/index.ts'
import { namesOf } from '../databases/postgres/names.ts'
import { readEvents, readPayloadType } from './queries.ts'

/** What runs one statement: a pg Pool or client, PGlite, an executor. In a transaction it shows what that transaction sees. */
export interface Queryable {
  query(sql: string, params?: unknown[]): Promise<{ readonly rows: readonly unknown[] }>
}

/** An event as it stands in the outbox. */
export interface OutboxEntry<Type extends string = string, Payload = unknown> {
  readonly id: string
  readonly seq: bigint
  readonly type: Type
  /** The ordering key, null without order. */
  readonly key: string | null
  /** The row's own topic, else the aggregate's type. */
  readonly topic: string
  /** As a reader would get it: parsed, and through the event's schema. What is no JSON comes as text or bytes; null is a tombstone. */
  readonly payload: Payload
  readonly headers: Readonly<Record<string, string>>
  /** `sent` once the broker confirmed it and the relay recorded that. A parked event is `unsent`. */
  readonly state: 'unsent' | 'sent'
}

/** The entries of an outbox whose events are known. */
export type EntryOf<E extends Events> = { [N in EventType<E>]: OutboxEntry<N, ReadPayload<E[N]>> }[EventType<E>]

interface Row {
  readonly id: string
  readonly seq: bigint
  readonly type: string
  readonly key: string | null
  readonly topic: string
  readonly payload: string | Uint8Array | null
  readonly headers: Readonly<Record<string, string>> | null
  readonly sent: boolean
}

/**
 * The events in the outbox of a real database, or of a memory outbox, in order of their numbers: for tests. Clean-up removes events that were sent.
 *
 * Throws OUTBOX_MISSING when there is none, UNKNOWN_EVENT for one that is not in `events`, PAYLOAD_INVALID for one that its schema refuses.
 */
export async function readOutbox(db: Queryable | MemoryOutbox, events?: undefined, names?: OutboxNames): Promise<OutboxEntry[]>
export async function readOutbox<E extends Events>(db: Queryable | MemoryOutbox, events: E, names?: OutboxNames): Promise<EntryOf<E>[]>
export async function readOutbox(db: Queryable | MemoryOutbox, events?: Events, names: OutboxNames = {}): Promise<OutboxEntry[]> {
  const rows = 'entries' in db ? memoryRows(db) : await databaseRows(db, names)
  return Promise.all(
    rows.map(async ({ sent, headers, payload, ...row }): Promise<OutboxEntry> => {
      const value = await payloadOf(payload, row.type, events)
      return { ...row, payload: value, headers: headers ?? {}, state: sent ? 'sent' : 'unsent' }
    }),
  )
}

async function databaseRows(db: Queryable, outboxNames: OutboxNames): Promise<Row[]> {
  const names = namesOf(outboxNames)
  try {
    const [meta] = (await db.query(readPayloadType(names))).rows as { payload_type: PayloadType }[]
    const type = meta?.payload_type ?? 'jsonb'
    const { rows } = await db.query(readEvents(names, type))
    return (rows as Record<keyof Row, string | null>[]).map((row) => ({
      id: row.id ?? '',
      seq: BigInt(row.seq ?? 0),
      type: row.type ?? '',
      key: row.key,
      topic: row.topic ?? '',
      payload: row.payload !== null && type === 'bytea' ? new Uint8Array(Buffer.from(row.payload, 'hex')) : row.payload,
      headers: row.headers === null ? null : (JSON.parse(row.headers) as Record<string, string>),
      sent: Boolean(row.sent),
    }))
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === '42P01')) throw cause
    throw new OutriderError('OUTBOX_MISSING', `There is no outbox ${names.outbox}.`, { hint: 'npx outrider migrate', cause })
  }
}

function memoryRows(outbox: MemoryOutbox): Row[] {
  return outbox.entries().map(({ message, state }) => ({ ...pick(message), sent: state === 'sent' }))
}

function pick({ id, seq, type, key, topic, payload, headers }: Omit<Row, 'sent'>): Omit<Row, 'sent'> {
  return { id, seq, type, key, topic, payload, headers }
}

async function payloadOf(stored: string | Uint8Array | null, type: string, events: Events | undefined): Promise<unknown> {
  const value = stored === null ? null : parsed(stored)
  if (events === undefined) return value
  const definition: AnyEvent | undefined = Object.hasOwn(events, type) ? events[type] : undefined
  if (definition === undefined) {
    throw new OutriderError('UNKNOWN_EVENT', `The outbox holds an event ${JSON.stringify(type)}, which is not among the events given.`, {
      hint: `Given are: ${Object.keys(events).join(', ')}. Without any, readOutbox takes all as they are.`,
    })
  }
  if (definition.schema === null || stored === null) return value
  const result = await definition.schema['~standard'].validate(value)
  if (result.issues === undefined) return result.value
  throw new OutriderError('PAYLOAD_INVALID', `The outbox holds an event ${type} that its schema refuses: ${issuesText(result.issues)}.`)
}

function parsed(stored: string | Uint8Array): unknown {
  try {
    return JSON.parse(typeof stored === 'string' ? stored : new TextDecoder('utf-8', { fatal: true }).decode(stored))
  } catch {
    return stored
  }
}
