// The tables around the outbox, and the one event that is written: what writers, consumer and judge share.
import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import { defineEvents, event } from '../src/write/index.ts'

export const keys = Array.from({ length: 50 }, (_, number) => `k${number + 1}`)

export const eventsIn = (topic: string) =>
  defineEvents({ Placed: event<{ key: string; n: string }>({ aggregate: 'account', key: (placed) => placed.key, topic }) })

/** `account.n` is raised under the row's lock; `placed` says what was committed; `handled` what the consumer did. */
export const createTables = `
create table account (key text primary key, n bigint not null default 0);
create table placed (id uuid primary key, key text not null, n bigint not null);
create table handled (id uuid not null, key text not null, n bigint not null)`
export const fillAccounts = 'insert into account (key) select unnest($1::text[])'
export const raise = 'update account set n = n + 1 where key = $1 returning n'
export const place = 'insert into placed (id, key, n) values ($1, $2, $3)'
export const placed = 'select id, key, n from placed'
export const handle = 'insert into handled (id, key, n) values ($1, $2, $3)'
export const handledTimes = 'select id, count(*)::int as times from handled group by id'
export const preparedHere = 'select gid from pg_prepared_xacts where database = current_database()'

/** Everything that a transaction of the shop can meet while its server is being ended, is away, or comes up. */
export function isOutage(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null
  // A driver's and a socket's own errors have no SQLSTATE.
  return code === null || !/^[0-9A-Z]{5}$/.test(code) || /^(57P|08|53|25P03)/.test(code) || code === 'EPIPE'
}

export async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  client.on('error', () => undefined)
  await client.connect()
  return client
}

/** As long as the server takes to come back; bounded. */
export async function reconnect(url: string): Promise<Client> {
  for (let tries = 0; ; tries++) {
    try {
      return await connect(url)
    } catch (error) {
      if (tries > 1_000) throw error
      await pause(50)
    }
  }
}
