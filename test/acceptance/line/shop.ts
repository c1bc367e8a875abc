// The application at the start of the line: transactions that raise a key's counter under its row's lock and write an event.
import { Client } from 'pg'
import { migrate } from '../../../src/databases/postgres/index.ts'
import type { CommittedMessage } from '../../../src/testing/checker.ts'
import { createOutbox, defineEvents, event } from '../../../src/write/index.ts'

const keys = 40

export interface Shop {
  /** Transactions that committed so far. */
  readonly placed: number
  /** Rejects when a writer met an error that it does not survive. */
  more(count: number): Promise<void>
  /** Ends the writers; resolves with what the business tables say. */
  stop(): Promise<CommittedMessage[]>
}

/** @param topic where the events go @param url of a database that is reached directly, whatever happens to the relay's way */
export async function openShop(url: string, topic: string, { writers = 4, rollbackShare = 0.1 } = {}): Promise<Shop> {
  const admin = await connect(url)
  await migrate(admin)
  await admin.query(`create table account (key text primary key, n bigint not null default 0);
    create table placed (id uuid primary key, key text not null, n bigint not null);
    insert into account (key) select 'k' || g from generate_series(1, ${keys}) g`)
  await admin.end()
  const outbox = createOutbox({
    events: defineEvents({ Placed: event<{ key: string; n: string }>({ aggregate: 'account', key: (e) => e.key, topic }) }),
  })
  let placed = 0
  const stopping = new AbortController()
  const watchers = new Set<() => void>()

  async function writer(number: number): Promise<void> {
    let client = await connect(url)
    for (let turn = 0; !stopping.signal.aborted; turn++) {
      try {
        await client.query('begin')
        const key = `k${((number * 7 + turn * 13) % keys) + 1}`
        const { rows } = await client.query<{ n: string }>('update account set n = n + 1 where key = $1 returning n', [key])
        const { id } = await outbox.write(client, 'Placed', { key, n: rows[0]!.n })
        await client.query('insert into placed (id, key, n) values ($1, $2, $3)', [id, key, rows[0]!.n])
        const rollsBack = Math.random() < rollbackShare
        await client.query(rollsBack ? 'rollback' : 'commit')
        if (rollsBack) continue
        placed++
        for (const watcher of watchers) watcher()
      } catch {
        // The server was restarted, or ended the session: the application tries again, as it would.
        await client.end().catch(() => undefined)
        client = await reconnect(url, () => stopping.signal.aborted)
      }
    }
    await client.end().catch(() => undefined)
  }
  const all = Promise.all(Array.from({ length: writers }, (_, number) => writer(number)))
  all.catch(() => undefined)
  return {
    get placed() {
      return placed
    },
    async more(count) {
      const wanted = placed + count
      const { promise, resolve } = Promise.withResolvers<void>()
      const watcher = (): void => (placed >= wanted ? resolve() : undefined)
      watchers.add(watcher)
      await Promise.race([promise, all])
      watchers.delete(watcher)
    },
    async stop() {
      stopping.abort()
      await all
      const client = await reconnect(url, () => false)
      const { rows } = await client.query<{ id: string; key: string; n: string }>('select id, key, n from placed')
      await client.end()
      return rows.map((row) => ({ id: row.id, key: row.key, n: BigInt(row.n) }))
    },
  }
}

async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  return client
}

/** As long as the server takes to come back; bounded. */
async function reconnect(url: string, given: () => boolean): Promise<Client> {
  for (let tries = 0; ; tries++) {
    try {
      return await connect(url)
    } catch (error) {
      if (tries > 600 || given()) throw error
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}
