import { Client, Pool } from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createOutbox, defineEvents, event } from '../../src/write/index.ts'
import { migrate } from '../../src/databases/postgres/migrate.ts'
import { createTestDatabase, describePostgres } from '../setup/index.ts'

const events = defineEvents({
  OrderPlaced: event<{ orderId: string; note?: string }>({ aggregate: 'order', key: (e) => e.orderId, topic: 'orders', version: 3 }),
  Anything: event<object>({ aggregate: 'thing', key: null }),
})
const outbox = createOutbox({ events })

async function refusal(write: Promise<unknown>): Promise<unknown> {
  return write.then(
    () => null,
    (error: unknown) => error,
  )
}

describePostgres('writing in a pg transaction', () => {
  let url: string
  let pool: Pool
  let client: Client
  beforeAll(async () => {
    url = (await createTestDatabase()).url
    pool = new Pool({ connectionString: url, max: 2 })
    client = new Client({ connectionString: url })
    await client.connect()
    await migrate(client)
    await client.query('create table orders (id text primary key, backend int default pg_backend_pid())')
  })
  beforeEach(async () => {
    await client.query('truncate orders')
    await client.query('delete from outrider.outbox')
  })
  afterAll(async () => {
    await client.end()
    await pool.end()
  })

  async function stored(): Promise<Record<string, unknown>[]> {
    return (await client.query(`select *, payload::text as text, xmin::text as xid from outrider.outbox order by seq`)).rows
  }

  test('an event exists when its transaction commits, written by the same backend in the same transaction', async () => {
    await client.query('begin')
    const { rows } = await client.query(`insert into orders values ('o1') returning xmin::text as xid`)
    const { id } = await outbox.write(client, 'OrderPlaced', { orderId: 'o1' }, { headers: { tenant: 'a' } })
    await client.query('commit')
    expect(await stored()).toMatchObject([
      {
        id,
        aggregate_type: 'order',
        aggregate_id: 'o1',
        event_type: 'OrderPlaced',
        payload: { orderId: 'o1' },
        headers: { tenant: 'a', eventVersion: '3' },
        topic: 'orders',
        key: null,
        xid: rows[0].xid,
      },
    ])
  })

  test('no event is left of a rolled-back transaction, of a rolled-back savepoint, or of a connection that died', async () => {
    await client.query('begin')
    await outbox.write(client, 'OrderPlaced', { orderId: 'rolled back' })
    await client.query('rollback')

    await client.query('begin')
    await client.query('savepoint s')
    await outbox.write(client, 'OrderPlaced', { orderId: 'in the savepoint' })
    await client.query('rollback to savepoint s')
    await outbox.write(client, 'OrderPlaced', { orderId: 'after it' })
    await client.query('commit')

    const doomed = await pool.connect()
    doomed.on('error', () => {})
    await doomed.query('begin')
    await outbox.write(doomed, 'OrderPlaced', { orderId: 'killed' })
    const pid = (await doomed.query('select pg_backend_pid() as pid')).rows[0].pid
    await client.query('select pg_terminate_backend($1)', [pid])
    await refusal(doomed.query('commit'))
    doomed.release(true)
    expect((await stored()).map((row) => row['aggregate_id'])).toEqual(['after it'])
  })

  test('a pool, and a client outside of a transaction, are refused and nothing is written', async () => {
    expect(await refusal(outbox.write(pool as never, 'OrderPlaced', { orderId: 'x' }))).toMatchObject({ code: 'NOT_IN_TRANSACTION' })
    const idle = await pool.connect()
    expect(await refusal(outbox.write(idle, 'OrderPlaced', { orderId: 'x' }))).toMatchObject({ code: 'NOT_IN_TRANSACTION' })
    await idle.query('begin')
    await idle.query('commit')
    expect(await refusal(outbox.write(idle, 'OrderPlaced', { orderId: 'x' }))).toMatchObject({ code: 'NOT_IN_TRANSACTION' })
    idle.release()
    expect(await stored()).toEqual([])
  })

  test('a refused payload leaves the transaction usable', async () => {
    await client.query('begin')
    await client.query(`insert into orders values ('o1')`)
    const nul = 'A\u0000B'
    const refusals = [
      outbox.write(client, 'OrderPlaced', { orderId: 'x', note: nul }),
      outbox.write(client, 'OrderPlaced', { orderId: nul }),
      outbox.write(client, 'Anything', { [nul]: 1 }),
      outbox.write(client, 'Anything', { lone: '\ud800' }),
      outbox.write(client, 'OrderPlaced', { orderId: 'x' }, { headers: { h: nul } }),
      outbox.write(client, 'OrderPlaced', { orderId: 'x' }, { key: nul }),
      outbox.write(client, 'OrderPlaced', { orderId: 'x' }, { topic: nul }),
    ]
    for (const refused of refusals)
      expect(await refusal(refused)).toMatchObject({ code: expect.stringMatching(/_(INVALID|NOT_STORABLE)$/) })
    await outbox.write(client, 'OrderPlaced', { orderId: 'o1' })
    await client.query('commit')
    expect((await client.query('select id from orders')).rows).toHaveLength(1)
    expect(await stored()).toHaveLength(1)
  })

  test('negative control: without the check, PostgreSQL refuses the payload and the whole transaction is lost', async () => {
    await client.query('begin')
    await client.query(`insert into orders values ('o1')`)
    expect(await refusal(client.query(`select $1::text::jsonb`, [JSON.stringify({ note: 'A\u0000B' })]))).toMatchObject({ code: '22P05' })
    const after = await refusal(outbox.write(client, 'OrderPlaced', { orderId: 'o1' }))
    expect(after).toMatchObject({ code: 'NOT_IN_TRANSACTION', message: expect.stringContaining('has failed') })
    await client.query('rollback')
  })

  test('a text that reads backslash-u0000 is stored and read back as it is', async () => {
    await client.query('begin')
    await outbox.write(client, 'OrderPlaced', { orderId: '\\u0000', note: 'a\\u0000b\\' })
    await client.query('commit')
    expect(await stored()).toMatchObject([{ aggregate_id: '\\u0000', payload: { orderId: '\\u0000', note: 'a\\u0000b\\' } }])
  })

  test('right after a refused statement or a refused COMMIT, nothing is written outside of the transaction', async () => {
    await client.query('create table strict (id int unique deferrable initially deferred)')
    for (let i = 0; i < 20; i++) {
      await client.query('begin')
      await client.query('insert into strict values (1), (1)')
      expect(await refusal(client.query('commit'))).toMatchObject({ code: '23505' })
      expect(await refusal(outbox.write(client, 'OrderPlaced', { orderId: 'after a refused commit' }))).toMatchObject({
        code: 'NOT_IN_TRANSACTION',
      })
      await client.query('begin')
      expect(await refusal(client.query('select * from nosuch'))).toMatchObject({ code: '42P01' })
      expect(await refusal(outbox.write(client, 'OrderPlaced', { orderId: 'after a refusal' }))).toMatchObject({
        code: 'NOT_IN_TRANSACTION',
      })
      await client.query('rollback')
    }
    expect(await stored()).toEqual([])
  })

  test('a write behind a COMMIT that nobody awaited is told', async () => {
    await client.query('begin')
    const commit = client.query('commit')
    expect(await refusal(outbox.write(client, 'OrderPlaced', { orderId: 'late' }))).toMatchObject({
      code: 'NOT_IN_TRANSACTION',
      message: expect.stringContaining('stands by itself'),
    })
    await commit
  })

  test('a write whose await was forgotten lands inside of the transaction', async () => {
    await client.query('begin')
    void outbox.write(client, 'OrderPlaced', { orderId: 'forgotten' })
    await client.query('commit')
    expect((await stored()).map((row) => row['aggregate_id'])).toEqual(['forgotten'])
  })

  test.each([1, 5_461, 5_462, 10_000, 70_000])('%i events are one statement, in the order of the input', async (count) => {
    await client.query('begin')
    let statements = 0
    const counting = {
      dialect: 'postgres' as const,
      async query(sql: string, params: readonly unknown[]) {
        statements += 1
        const { rows, rowCount } = await client.query(sql, [...params])
        return { rows, rowCount: rowCount ?? 0 }
      },
    }
    const wanted = Array.from({ length: count }, (_, i) => ({ type: 'OrderPlaced' as const, payload: { orderId: `"o\\${i}` } }))
    const { ids } = await outbox.writeMany(counting, wanted)
    await client.query('commit')
    expect(statements).toBe(1)
    const { rows } = await client.query('select id, aggregate_id from outrider.outbox order by seq')
    expect(rows.map((row) => row.id)).toEqual(ids)
    expect(rows.map((row) => row.aggregate_id)).toEqual(wanted.map((w) => w.payload.orderId))
  })

  test('events of more than 32 MB are several statements, in the order of the input', async () => {
    await client.query('begin')
    const text = 'x'.repeat(800_000)
    const { ids } = await outbox.writeMany(
      client,
      Array.from({ length: 45 }, (_, i) => ({ type: 'Anything' as const, payload: { i, text } })),
    )
    await client.query('commit')
    expect((await client.query('select id from outrider.outbox order by seq')).rows.map((row) => row.id)).toEqual(ids)
  })

  test('a missing outbox names the command that makes it', async () => {
    const elsewhere = createOutbox({ events, schema: 'nowhere' })
    await client.query('begin')
    expect(await refusal(elsewhere.write(client, 'OrderPlaced', { orderId: 'x' }))).toMatchObject({
      code: 'OUTBOX_MISSING',
      hint: 'Make the tables first: npx outrider migrate --schema nowhere',
      message: expect.stringContaining('rollback'),
    })
    await client.query('rollback')
    await client.query('begin')
    expect(await refusal(createOutbox({ events, table: 'gone' }).write(client, 'OrderPlaced', { orderId: 'x' }))).toMatchObject({
      code: 'OUTBOX_MISSING',
    })
    await client.query('rollback')
  })

  test('a table that a trigger misses is not taken for the outbox', async () => {
    await client.query(
      `create function broken() returns trigger language plpgsql as 'begin insert into nosuch values (1); return new; end'`,
    )
    await client.query(`create trigger broken before insert on outrider.outbox for each row execute function broken()`)
    await client.query('begin')
    expect(await refusal(outbox.write(client, 'OrderPlaced', { orderId: 'x' }))).toMatchObject({ code: '42P01', name: 'error' })
    await client.query('rollback')
    await client.query('drop function broken cascade')
  })

  test('a kick arrives on the channel of the outbox, many come to a few, and none fails', async () => {
    const received: string[] = []
    const listener = new Client({ connectionString: url })
    await listener.connect()
    const arrived = Promise.withResolvers<void>()
    listener.on('notification', (message) => {
      received.push(`${message.channel}:${message.payload}`)
      if (received.length === 2) arrived.resolve()
    })
    await listener.query('listen outrider_outbox')
    for (let i = 0; i < 500; i++) outbox.kick(pool)
    await arrived.promise
    expect(received).toEqual(['outrider_outbox:', 'outrider_outbox:'])
    await listener.end()
    const ended = new Pool({ connectionString: url })
    await ended.end()
    outbox.kick(ended)
  })

  test('an event far above the limit of a notification is written: nothing of it is notified', async () => {
    for (const length of [7_900, 8_000, 200_000]) {
      await client.query('begin')
      await outbox.write(client, 'OrderPlaced', { orderId: 'o1', note: '注'.repeat(length) })
      await client.query('commit')
      outbox.kick(pool)
    }
    expect(await stored()).toHaveLength(3)
  })
})
