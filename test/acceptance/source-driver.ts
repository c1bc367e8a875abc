// Runs the log source alone, on a database of its own: cycle by cycle under a clock that stands still, or in real time.
import { Client } from 'pg'
import { setTimeout as delay } from 'node:timers/promises'
import type { Clock, Grant, Message, RelayEvent, Settlement, SourceContext } from '../../src/core/index.ts'
import { migrate, type MigrateOptions } from '../../src/databases/postgres/index.ts'
import { LogSource, type LogSourceOptions } from '../../src/databases/postgres/log/log-source.ts'
import { allSafe, type Safeties } from '../../src/databases/postgres/log/safeties.ts'
import { createTestDatabase, type TestDatabaseOptions } from '../setup/index.ts'

export interface Outbox {
  readonly url: string
  /** A superuser's session for whatever the test asks or changes. */
  readonly admin: Client
  connect(): Promise<Client>
  /** Inserts one row in a transaction of its own. */
  insert(payload: string, key?: string): Promise<bigint>
  close(): Promise<void>
}

/** A session; when its backend is cut it says nothing. */
export async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  return client
}

/** The outbox that `migrate` makes, in the database at `url` or in one of its own. */
export async function createOutbox(options: MigrateOptions & TestDatabaseOptions & { readonly url?: string } = {}): Promise<Outbox> {
  const url = options.url ?? (await createTestDatabase(options)).url
  const clients: Client[] = []
  const admin = await connect(url)
  clients.push(admin)
  await migrate(admin, { payload: 'text', ...options })
  return {
    url,
    admin,
    async connect() {
      const client = await connect(url)
      clients.push(client)
      return client
    },
    insert: (payload, key) => insert(admin, payload, key),
    async close() {
      await Promise.all(clients.map((client) => client.end().catch(() => undefined)))
    },
  }
}

/** Inserts one row; `into` may be a partition. */
export async function insert(client: Client, payload: string, key = payload, into = 'outbox'): Promise<bigint> {
  const { rows } = await client.query<{ seq: string }>(
    `insert into outrider.${into} (aggregate_type, aggregate_id, event_type, payload) values ('thing', $1, 'Happened', $2) returning seq`,
    [key, payload],
  )
  return BigInt(rows[0]!.seq)
}

/** The same outbox, range-partitioned by number, as an operator would make it by hand. */
export async function partition(outbox: Outbox, cut = 1_000_000): Promise<void> {
  await outbox.admin.query(`
    drop table outrider.outbox;
    create table outrider.outbox (
      seq bigint generated always as identity (cache 1) primary key, id uuid not null default gen_random_uuid(),
      aggregate_type text not null, aggregate_id text, event_type text not null, payload text, headers jsonb, topic text, key text,
      created_at timestamptz not null default now()) partition by range (seq);
    create table outrider.outbox_first partition of outrider.outbox for values from (minvalue) to (${cut});
    create table outrider.outbox_rest partition of outrider.outbox for values from (${cut}) to (maxvalue);
    update outrider.outbox_meta set sequence_filenode = pg_relation_filenode('outrider.outbox_seq_seq')`)
}

export const text = (message: Message): string => Buffer.from(message.payload ?? []).toString()
export const texts = (messages: readonly Message[]): string[] => messages.map(text)
export const delivered = (messages: readonly Message[]): Settlement[] => messages.map((message) => ({ kind: 'delivered', message }))

/** Stands still until it is advanced. A sleeper of the source's poll tells `onRest`; nobody wakes by time. */
export class StepClock implements Clock {
  nowMs = 1_000_000
  onRest: () => void = () => undefined

  monotonicMs(): number {
    return this.nowMs
  }

  wallMs(): number {
    return this.nowMs
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (ms < 10 || signal?.aborted === true) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    signal?.addEventListener('abort', () => resolve(), { once: true })
    if (ms < 1_000) this.onRest()
    return promise
  }
}

const realClock: Clock = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  sleep: (ms, signal) => delay(ms, undefined, signal === undefined ? {} : { signal }).catch(() => undefined),
}

export interface DriverOptions extends Partial<Omit<LogSourceOptions, 'connection' | 'safeties'>> {
  readonly safeties?: Partial<Safeties>
  readonly batchSize?: number
  readonly maxInFlight?: number
  readonly leaseMs?: number
  readonly relayId?: string
}

const firstRelay = '00000000-0000-4000-8000-000000000001'
export const secondRelay = '00000000-0000-4000-8000-000000000002'

/** A source with what a relay gives it. */
function create(url: string, clock: Clock, options: DriverOptions, report: (event: RelayEvent) => void) {
  const { safeties, batchSize = 500, maxInFlight = 1_000, relayId = firstRelay, ...rest } = options
  const source = new LogSource({
    connection: { connectionString: url },
    pollMs: 100,
    timeoutMs: 30_000,
    ...rest,
    safeties: { ...allSafe, ...safeties },
  })
  const context: SourceContext = { relayId, relayName: 'test', clock, report, batchSize, maxInFlight }
  return { source, context }
}

/** One cycle at a time. */
export class Stepper {
  readonly source: LogSource
  readonly clock = new StepClock()
  readonly delivered: Message[] = []
  readonly events: RelayEvent[] = []
  grants: readonly Grant[] = []
  lanes = 0
  readonly relayId: string
  readonly #context: SourceContext
  readonly #options: DriverOptions

  constructor(url: string, options: DriverOptions = {}) {
    this.#options = options
    const { source, context } = create(url, this.clock, options, (event) => this.events.push(event))
    this.source = source
    this.#context = context
    this.relayId = context.relayId
  }

  static async open(outbox: { readonly url: string }, options: DriverOptions = {}): Promise<Stepper> {
    const stepper = new Stepper(outbox.url, options)
    await stepper.open()
    return stepper
  }

  async open(max = 1_024): Promise<void> {
    this.lanes = (await this.source.open(this.#context)).lanes
    await this.acquire(max)
  }

  async acquire(max = 1_024): Promise<readonly Grant[]> {
    this.grants = await this.source.ownership.acquire({ leaseMs: this.#options.leaseMs ?? 30_000, max })
    return this.grants
  }

  /** Reads once, `afterMs` later; resolves with what was handed out, or nothing when the source looked in vain. */
  async read(afterMs = 0, maxBytes = 1_000_000): Promise<Message[]> {
    this.clock.nowMs += afterMs
    const looked = new AbortController()
    this.clock.onRest = () => looked.abort()
    const room = new Map(Array.from({ length: this.lanes }, (_, lane) => [lane, this.#context.batchSize]))
    return this.source.read({ room, maxBytes, signal: looked.signal })
  }

  /** Reads once and settles what came. */
  async step(afterMs = 0, maxBytes?: number): Promise<Message[]> {
    const messages = await this.read(afterMs, maxBytes)
    await this.settle(messages)
    return messages
  }

  async settle(messages: readonly Message[]): Promise<readonly number[]> {
    this.delivered.push(...messages)
    return messages.length === 0 ? [] : (await this.source.settle(delivered(messages))).lost
  }

  /** Steps of 60 ms until several in a row brought nothing: enough to strike out what is dead. */
  async rest(quiet = 4): Promise<Message[]> {
    const before = this.delivered.length
    for (let vain = 0, left = 500; vain < quiet && left > 0; left--) vain = (await this.step(60)).length === 0 ? vain + 1 : 0
    return this.delivered.slice(before)
  }

  get texts(): string[] {
    return texts(this.delivered)
  }

  close(): Promise<void> {
    return this.source.close()
  }
}

/** Reads and settles in real time until it is stopped. */
export class Follower {
  readonly delivered: Message[] = []
  readonly events: RelayEvent[] = []
  /** Errors that made it start anew. */
  readonly losses: unknown[] = []
  readonly #source: LogSource
  readonly #context: SourceContext
  readonly #stop = new AbortController()
  readonly #keep: boolean
  #lanes = 0
  readonly finished: Promise<void>

  constructor(url: string, options: DriverOptions & { readonly keepEvents?: boolean } = {}) {
    const { keepEvents, ...rest } = options
    this.#keep = keepEvents ?? false
    const { source, context } = create(url, realClock, rest, (event) => void (this.#keep && this.events.push(event)))
    this.#source = source
    this.#context = context
    this.finished = this.#run()
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      try {
        this.#lanes = (await this.#source.open(this.#context)).lanes
        await this.#source.ownership.acquire({ leaseMs: 30_000, max: this.#lanes })
        await this.#follow()
      } catch (error) {
        this.losses.push(error)
        if (!(error instanceof Error && 'retryable' in error && error.retryable === true)) throw error
        await realClock.sleep(50, this.#stop.signal)
      }
    }
    await this.#source.close()
  }

  async #follow(): Promise<void> {
    const room = new Map(Array.from({ length: this.#lanes }, (_, lane) => [lane, this.#context.batchSize]))
    while (!this.#stop.signal.aborted) {
      const messages = await this.#source.read({ room, maxBytes: 4_000_000, signal: this.#stop.signal })
      if (messages.length === 0) continue
      for (const message of messages) this.delivered.push(message)
      await this.#source.settle(delivered(messages))
    }
  }

  kick(): void {
    this.#source.kick()
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.finished
  }
}

/** Asks until it holds. For conditions that another process or session brings about. */
export async function eventually(what: string, holds: () => boolean | Promise<boolean>, timeoutMs = 15_000): Promise<void> {
  const end = performance.now() + timeoutMs
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`Not within ${timeoutMs} ms: ${what}`)
    await delay(10)
  }
}

/** Runs `during` just before a session sends the next statement that was prepared as `name`. Call what it returns to end it. */
export function beforeStatement(name: string, during: () => Promise<unknown>): () => void {
  type Query = (this: Client, ...args: unknown[]) => Promise<unknown>
  const { query } = Client.prototype as unknown as { query: Query }
  let armed = true
  const hooked: Query = function (...args) {
    const [config] = args
    if (!armed || typeof config !== 'object' || config === null || !('name' in config) || config.name !== name)
      return query.apply(this, args)
    armed = false
    return during().then(() => query.apply(this, args))
  }
  Object.assign(Client.prototype, { query: hooked })
  return () => Object.assign(Client.prototype, { query })
}
