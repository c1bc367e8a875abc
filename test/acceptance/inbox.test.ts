import { Pool } from 'pg'
import type { PoolClient } from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { migrate } from '../../src/databases/postgres/migrate.ts'
import { createInbox } from '../../src/inbox/index.ts'
import { createOutbox, defineEvents, event } from '../../src/write/index.ts'
import { createTestDatabase, describePostgres } from '../setup/index.ts'

const events = defineEvents({ Billed: event<{ id: string }>({ aggregate: 'bill', key: (e) => e.id }) })
const outbox = createOutbox({ events })
const inbox = createInbox({ consumer: 'billing', events })
const message = { id: '01890a5d-ac96-774b-bcce-b302099a8057' }

async function bill(client: PoolClient): Promise<string> {
  await client.query('update account set balance = balance + 1')
  return (await outbox.write(client, 'Billed', { id: 'b1' })).id
}

/** An inbox on a table of the application's own. */
function inboxOn(name: string, facts: { schema?: string; messageId?: string; shared?: string; consumer?: string } = {}) {
  const { schema, messageId = 'event_id', shared, consumer = 'billing' } = facts
  const table = { name, messageId, ...(shared === undefined ? {} : { consumer: shared }) }
  return createInbox({ consumer, events, table, ...(schema === undefined ? {} : { schema }) })
}

describePostgres('handling a message once', () => {
  let pool: Pool
  beforeAll(async () => {
    const { url } = await createTestDatabase()
    pool = new Pool({ connectionString: url, max: 20 })
    pool.on('error', () => {})
    const client = await pool.connect()
    await migrate(client)
    await client.query('create table account (id int primary key, balance int not null)')
    client.release()
  })
  beforeEach(async () => {
    await pool.query('truncate account, outrider.inbox, outrider.outbox')
    await pool.query('insert into account values (1, 0)')
  })
  afterAll(() => pool.end())

  /** Runs `fn` in a transaction on a client of its own. */
  async function inTransaction<T>(fn: (client: PoolClient) => Promise<T>, begin = 'begin'): Promise<T> {
    const client = await pool.connect()
    try {
      await client.query(begin)
      const value = await fn(client)
      await client.query('commit')
      return value
    } catch (error) {
      await client.query('rollback').catch(() => {})
      throw error
    } finally {
      client.release()
    }
  }
  async function effects(): Promise<{ balance: number; events: number; notes: number }> {
    const { rows } = await pool.query(
      `select balance, (select count(*)::int from outrider.outbox) as events, (select count(*)::int from outrider.inbox) as notes from account`,
    )
    return rows[0]
  }
  /** Resolves when `count` sessions wait for a lock. */
  async function waiting(count: number): Promise<void> {
    for (let i = 0; i < 1000; i++) {
      const { rows } = await pool.query(
        `select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      if (rows[0].n >= count) return
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    throw new Error(`There were never ${count} sessions waiting.`)
  }

  test('sixteen consumers at once: one is processed, fifteen see a duplicate after it has committed', async () => {
    const go = Promise.withResolvers<void>()
    let ran = 0
    const all = Array.from({ length: 16 }, () =>
      inTransaction((client) =>
        inbox.once(client, message, async () => {
          ran += 1
          await go.promise
          return bill(client)
        }),
      ),
    )
    await waiting(15)
    go.resolve()
    const results = await Promise.all(all)
    expect(results.map((r) => r.status).toSorted()).toEqual([...Array.from({ length: 15 }, () => 'duplicate'), 'processed'])
    expect(ran).toBe(1)
    expect(await effects()).toEqual({ balance: 1, events: 1, notes: 1 })
    expect(await inTransaction((client) => inbox.once(client, message, () => bill(client)))).toEqual({ status: 'duplicate' })
  })

  test('negative control: looking first and inserting later lets more than one through', async () => {
    const looked: (() => void)[] = []
    const allLooked = new Promise<void>((resolve) => looked.push(resolve))
    let looks = 0
    const results = await Promise.allSettled(
      Array.from({ length: 4 }, () =>
        inTransaction(async (client) => {
          const { rowCount } = await client.query('select from outrider.inbox where message_id = $1', [message.id])
          looks += 1
          if (looks === 4) looked[0]?.()
          await allLooked
          if (rowCount === 0) await client.query('update account set balance = balance + 1')
        }),
      ),
    )
    expect(results.every((r) => r.status === 'fulfilled')).toBe(true)
    expect((await effects()).balance).toBe(4)
  })

  for (const end of ['rolls back', 'dies'] as const) {
    test(`when the winner ${end}, exactly one of those who wait takes over`, async () => {
      const winner = await pool.connect()
      winner.on('error', () => {})
      await winner.query('begin')
      expect(await inbox.once(winner, message, () => bill(winner))).toMatchObject({ status: 'processed' })
      const others = Array.from({ length: 8 }, () => inTransaction((client) => inbox.once(client, message, () => bill(client))))
      await waiting(8)
      if (end === 'rolls back') await winner.query('rollback')
      else await pool.query('select pg_terminate_backend($1)', [(await winner.query('select pg_backend_pid() as pid')).rows[0].pid])
      const results = await Promise.all(others)
      winner.release(true)
      expect(results.filter((r) => r.status === 'processed')).toHaveLength(1)
      expect(await effects()).toEqual({ balance: 1, events: 1, notes: 1 })
    })
  }

  test('a throwing function leaves no trace, also when the caller catches the error and commits', async () => {
    await inTransaction(async (client) => {
      await client.query('insert into account values (2, 10)')
      const failing = inbox.once(client, message, async () => {
        await bill(client)
        throw new Error('no credit')
      })
      await expect(failing).rejects.toThrow('no credit')
    })
    expect((await pool.query('select id, balance from account order by id')).rows).toEqual([
      { id: 1, balance: 0 },
      { id: 2, balance: 10 },
    ])
    expect((await pool.query('select from outrider.inbox')).rowCount).toBe(0)
    expect(await inTransaction((client) => inbox.once(client, message, () => bill(client)))).toMatchObject({ status: 'processed' })
  })

  test('negative control: without the savepoint the note and half of the work stay', async () => {
    await inTransaction(async (client) => {
      const bare = {
        dialect: 'postgres' as const,
        async query(sql: string, params: readonly unknown[]) {
          if (sql.includes('savepoint')) return { rows: [], rowCount: 0 }
          const { rows, rowCount } = await client.query(sql, [...params])
          return { rows, rowCount: rowCount ?? 0 }
        },
      }
      const failing = inbox.once(bare, message, async () => {
        await bill(client)
        throw new Error('no credit')
      })
      await expect(failing).rejects.toThrow('no credit')
    })
    expect(await effects()).toEqual({ balance: 1, events: 1, notes: 1 })
  })

  test('a statement that fails inside of the function does not end the transaction of the caller', async () => {
    await inTransaction(async (client) => {
      const failing = inbox.once(client, message, () => client.query('insert into account values (1, 0)'))
      await expect(failing).rejects.toMatchObject({ code: '23505' })
      await client.query('update account set balance = 5')
    })
    expect(await effects()).toEqual({ balance: 5, events: 0, notes: 0 })
  })

  for (const level of ['repeatable read', 'serializable'] as const) {
    test(`under ${level} a loser gets a retryable error in plain words, and a duplicate when it starts anew`, async () => {
      const begin = `begin isolation level ${level}`
      const winner = await pool.connect()
      await winner.query(begin)
      await inbox.once(winner, message, () => bill(winner))
      const loser = inTransaction(async (client) => inbox.once(client, message, () => bill(client)), begin)
      const lost = loser.catch((error: unknown) => error)
      await waiting(1)
      await winner.query('commit')
      winner.release()
      expect(await lost).toMatchObject({
        code: 'INBOX_BUSY',
        retryable: true,
        message: expect.stringContaining('snapshot'),
        cause: { code: '40001' },
      })
      expect(await inTransaction((client) => inbox.once(client, message, () => bill(client)), begin)).toEqual({ status: 'duplicate' })
      expect(await effects()).toEqual({ balance: 1, events: 1, notes: 1 })
    })
  }

  test('the wait ends after lockTimeoutMs, and nothing else in the transaction is bounded by it', async () => {
    const patient = createInbox({ consumer: 'billing', events, lockTimeoutMs: 50 })
    const winner = await pool.connect()
    await winner.query('begin')
    await inbox.once(winner, message, () => bill(winner))
    await inTransaction(async (client) => {
      await client.query(`set local lock_timeout = '7s'`)
      await expect(patient.once(client, message, () => bill(client))).rejects.toMatchObject({ code: 'INBOX_BUSY', retryable: true })
      expect((await client.query('show lock_timeout')).rows[0].lock_timeout).toBe('7s')
      expect(await patient.once(client, { id: 'another' }, () => 1)).toEqual({ status: 'processed', value: 1 })
      expect((await client.query('show lock_timeout')).rows[0].lock_timeout).toBe('7s')
    })
    await winner.query('commit')
    winner.release()
    expect(await effects()).toEqual({ balance: 1, events: 1, notes: 2 })
  })

  test('ids and consumers are compared byte for byte', async () => {
    const ids = ['a', 'A', 'a ', '\u00e9', 'e\u0301', '😀', 'x'.repeat(2000)]
    for (const id of ids) {
      for (const consumer of ['c', 'C']) {
        const own = createInbox({ consumer, events })
        expect(await inTransaction((client) => own.once(client, { id }, () => 1)), id).toMatchObject({ status: 'processed' })
        expect(await inTransaction((client) => own.once(client, { id }, () => 1)), id).toEqual({ status: 'duplicate' })
      }
    }
  })

  for (const type of ['text', 'uuid', 'varchar(64)']) {
    test(`an existing processed_event table with a ${type} key is used`, async () => {
      await pool.query('drop table if exists processed_event')
      await pool.query(`create table processed_event (event_id ${type} primary key, at timestamptz default now())`)
      const own = inboxOn('processed_event')
      expect(await inTransaction((client) => own.once(client, message, () => bill(client)))).toMatchObject({ status: 'processed' })
      expect(await inTransaction((client) => own.once(client, message, () => bill(client)))).toEqual({ status: 'duplicate' })
      expect((await pool.query('select event_id::text as id from processed_event')).rows).toEqual([{ id: message.id }])
    })
  }

  test('an existing table may be shared by consumers', async () => {
    await pool.query('create schema shop create table "Seen" ("who" text, "What" text, primary key ("What", "who"))')
    const statuses: string[] = []
    for (const consumer of ['a', 'b', 'a']) {
      const own = inboxOn('Seen', { schema: 'shop', messageId: 'What', shared: 'who', consumer })
      statuses.push((await inTransaction((client) => own.once(client, message, () => 1))).status)
    }
    expect(statuses).toEqual(['processed', 'processed', 'duplicate'])
  })

  test('a table that is missing, or has no key that would stop duplicates, is refused and the transaction goes on', async () => {
    await pool.query('create table keyless (event_id text)')
    await inTransaction(async (client) => {
      await expect(inboxOn('nowhere').once(client, message, () => 1)).rejects.toMatchObject({
        code: 'INBOX_MISSING',
        hint: expect.stringContaining('migrate'),
      })
      await expect(inboxOn('keyless').once(client, message, () => 1)).rejects.toMatchObject({
        code: 'INBOX_MISSING',
        hint: expect.stringContaining('primary key'),
      })
      await client.query('update account set balance = 9')
    })
    expect((await effects()).balance).toBe(9)
  })

  test('outside of a transaction nothing is handled', async () => {
    let ran = false
    await expect(inbox.once(pool, message, () => (ran = true))).rejects.toMatchObject({ code: 'NOT_IN_TRANSACTION' })
    const client = await pool.connect()
    await expect(inbox.once(client, message, () => (ran = true))).rejects.toMatchObject({ code: 'NOT_IN_TRANSACTION' })
    client.release()
    expect(ran).toBe(false)
  })
})
