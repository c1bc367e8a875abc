import { channelOf, checkName, defaultNames, enlist, OutriderError } from '../core/index.ts'
import type { Events, EventType, Executor, OutboxRow, RowExecutor, WrittenPayload } from '../core/index.ts'
import { insert } from './insert.ts'
import type { Target } from './insert.ts'
import { createKick } from './kick.ts'
import type { Kickable } from './kick.ts'
import { prepare } from './prepare.ts'
import type { PrepareSettings, WriteRequest } from './prepare.ts'
import { insertStatements } from './queries.ts'
import type { PayloadType } from './queries.ts'
import type { RawJson } from './raw-json.ts'

export interface OutboxOptions<E extends Events> {
  /** Made by `defineEvents`. */
  readonly events: E
  /** Schema of the outbox's tables. @default 'outrider' */
  readonly schema?: string
  /** @default 'outbox' */
  readonly table?: string
  /** Type of the payload column, as it was given to `outrider migrate`. @default 'jsonb' */
  readonly payload?: PayloadType
  /** Largest payload, in bytes of UTF-8. Keep it under the broker's limit for a record. @default 900000 */
  readonly maxPayloadBytes?: number
  /** Whether the stored JSON must pass its schema once more, unchanged. Costs a validation a write. @default NODE_ENV is not 'production' */
  readonly verifySchemas?: boolean
  /** Turns the transaction of a library that Outrider doesn't know into something that runs SQL in it. */
  executor?(this: void, tx: object): Executor
}

export interface AmbientOutboxOptions<E extends Events> extends OutboxOptions<E> {
  /** The transaction that the caller is in, where it travels by itself (AsyncLocalStorage). Nothing: the write is refused. */
  readonly transaction: () => object | null | undefined
}

export interface WriteOptions {
  /** Overrides the event's key for this one. `''` is a key. */
  readonly key?: string
  /** Overrides the event's topic for this one. */
  readonly topic?: string
  /** A flat map of strings, sent as the record's headers. */
  readonly headers?: Readonly<Record<string, string>>
}

/** What may be written as the payload of an event. `null` is a tombstone; bytes and `rawJson` are stored as they are. */
export type PayloadOf<E extends Events, N extends keyof E> = WrittenPayload<E[N]> | RawJson | Uint8Array | null

/** One event of `writeMany`. */
export type EventToWrite<E extends Events> = {
  [N in EventType<E>]: { readonly type: N; readonly payload: PayloadOf<E, N> } & WriteOptions
}[EventType<E>]

/** Refuses a pool at compile time; what passes is looked at once more at run time. */
export type Enlistable<T> = T extends { readonly totalCount: number; readonly idleCount: number }
  ? 'A pg Pool is not a transaction. Take a client by `await pool.connect()`, run BEGIN on it, and pass that client.'
  : unknown

export interface Outbox<E extends Events> {
  /**
   * Writes an event in the caller's transaction: one statement, one round trip. It exists when, and only when, that transaction commits.
   * All checks come before the SQL, so a refused event leaves the transaction usable.
   *
   * Throws NOT_IN_TRANSACTION, UNKNOWN_EXECUTOR, UNKNOWN_EVENT, PAYLOAD_INVALID, PAYLOAD_NOT_STORABLE, PAYLOAD_TOO_LARGE, SCHEMA_NOT_STABLE,
   * KEY_INVALID, TOPIC_INVALID, HEADERS_INVALID, and OUTBOX_MISSING (which has ended the transaction).
   */
  write<N extends keyof E & string, T extends object>(
    tx: T & Enlistable<T>,
    type: N,
    payload: WrittenPayload<E[N]> | RawJson | Uint8Array | null,
    options?: WriteOptions,
  ): Promise<{ readonly id: string }>
  /** Writes any number of events in the order given, in one statement; beyond 32 MB of payload in several. All or none. */
  writeMany<T extends object>(tx: T & Enlistable<T>, events: readonly EventToWrite<E>[]): Promise<{ readonly ids: readonly string[] }>
  /** After the commit: tells relays to look at once. Optional, coalesced, never throws. Not inside a transaction, where it does nothing. */
  kick(pool: Kickable): void
}

/** An outbox that finds the transaction by itself. */
export interface AmbientOutbox<E extends Events> {
  /** As `Outbox.write`, in the transaction that the caller is in. */
  write<N extends keyof E & string>(
    type: N,
    payload: WrittenPayload<E[N]> | RawJson | Uint8Array | null,
    options?: WriteOptions,
  ): Promise<{ readonly id: string }>
  writeMany(events: readonly EventToWrite<E>[]): Promise<{ readonly ids: readonly string[] }>
  kick(pool: Kickable): void
}

/** The writer's side. Holds no connection. Throws CONFIG_INVALID. */
export function createOutbox<const E extends Events>(options: AmbientOutboxOptions<E>): AmbientOutbox<E>
export function createOutbox<const E extends Events>(options: OutboxOptions<E>): Outbox<E>
export function createOutbox<const E extends Events>(options: OutboxOptions<E> | AmbientOutboxOptions<E>): Outbox<E> | AmbientOutbox<E> {
  const writer = new Writer(options)
  const kick = createKick(channelOf(writer.target.schema, writer.target.table))
  if ('transaction' in options && options.transaction !== undefined) {
    const { transaction } = options
    const outbox: AmbientOutbox<E> = {
      write: (type, payload, facts) => writer.write(() => ambient(transaction), { ...facts, type, payload }),
      writeMany: (events) => writer.writeMany(() => ambient(transaction), events),
      kick,
    }
    return outbox
  }
  const outbox: Outbox<E> = {
    write: (tx, type, payload, facts) => writer.write(() => tx, { ...facts, type, payload }),
    writeMany: (tx, events) => writer.writeMany(() => tx, events),
    kick,
  }
  return outbox
}

class Writer {
  readonly target: Target
  readonly #settings: PrepareSettings
  readonly #executor: OutboxOptions<Events>['executor']

  constructor(options: OutboxOptions<Events>) {
    const schema = checkName('schema', options.schema ?? defaultNames.schema)
    const table = checkName('table', options.table ?? defaultNames.table)
    const payload = options.payload ?? 'jsonb'
    const maxPayloadBytes = options.maxPayloadBytes ?? 900_000
    if (!['jsonb', 'json', 'text', 'bytea'].includes(payload))
      throw invalid(`payload is ${JSON.stringify(payload)}`, 'jsonb, json, text or bytea')
    if (!(maxPayloadBytes > 0)) throw invalid(`maxPayloadBytes is ${maxPayloadBytes}`, 'a number above 0')
    if (typeof options.events !== 'object' || options.events === null) throw invalid('events is missing', 'what defineEvents returns')
    this.#executor = options.executor
    this.#settings = { events: options.events, payload, maxPayloadBytes, verifySchemas: options.verifySchemas ?? !isProduction() }
    this.target = { schema, table, payload, statements: insertStatements(schema, table, payload) }
  }

  /** Not `async` on purpose: with a synchronous schema the SQL is handed to the driver before this returns. */
  write(transaction: () => unknown, request: WriteRequest): Promise<{ id: string }> {
    try {
      const executor = this.#enlist(transaction(), 'outbox.write')
      const row = prepare(request, request.type, this.#settings)
      if (row instanceof Promise) return row.then((ready) => this.#insertOne(executor, ready))
      return this.#insertOne(executor, row)
    } catch (error) {
      return Promise.reject(error instanceof Error ? error : new Error(String(error)))
    }
  }

  writeMany(transaction: () => unknown, requests: readonly WriteRequest[]): Promise<{ ids: string[] }> {
    try {
      const executor = this.#enlist(transaction(), 'outbox.writeMany')
      const rows = prepareAll(requests, this.#settings)
      if (rows instanceof Promise) return rows.then((ready) => this.#insertMany(executor, ready))
      return this.#insertMany(executor, rows)
    } catch (error) {
      return Promise.reject(error instanceof Error ? error : new Error(String(error)))
    }
  }

  async #insertOne(executor: Executor | RowExecutor, row: OutboxRow): Promise<{ id: string }> {
    await insert(executor, [row], this.target)
    return { id: row.id }
  }

  async #insertMany(executor: Executor | RowExecutor, rows: readonly OutboxRow[]): Promise<{ ids: string[] }> {
    await insert(executor, rows, this.target)
    return { ids: rows.map((row) => row.id) }
  }

  #enlist(tx: unknown, caller: string): Executor | RowExecutor {
    return enlist(tx, caller, this.#executor)
  }
}

function prepareAll(requests: readonly WriteRequest[], settings: PrepareSettings): OutboxRow[] | Promise<OutboxRow[]> {
  const rows: OutboxRow[] = []
  const pending: Promise<OutboxRow>[] = []
  try {
    for (const [i, request] of requests.entries()) {
      const row = prepare(request, `${request.type} (events[${i}])`, settings)
      if (row instanceof Promise) pending.push(row.then((ready) => (rows[i] = ready)))
      else rows[i] = row
    }
  } catch (error) {
    // Asynchronous schemas of other events may still refuse; the first error is the one that is told.
    for (const other of pending) other.catch(() => {})
    throw error
  }
  return pending.length === 0 ? rows : Promise.all(pending).then(() => rows)
}

function ambient(transaction: () => object | null | undefined): object {
  const tx = transaction()
  if (tx !== null && tx !== undefined) return tx
  throw new OutriderError('NOT_IN_TRANSACTION', 'outbox.write found no transaction around it. Nothing was written.', {
    hint: 'Call it inside of a transaction. Outside one, the event could exist without its change.',
  })
}

function isProduction(): boolean {
  return typeof process !== 'undefined' && process.env?.['NODE_ENV'] === 'production'
}

function invalid(got: string, want: string): OutriderError {
  return new OutriderError('CONFIG_INVALID', `The outbox can't be made: ${got}; it must be ${want}.`)
}
