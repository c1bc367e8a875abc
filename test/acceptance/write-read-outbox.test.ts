import { Pool } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { laneOf, migrate, postgres } from '../../src/databases/postgres/index.ts'
import { createRelay } from '../../src/relay/index.ts'
import { createMemoryBroker, readOutbox } from '../../src/testing/index.ts'
import { createOutbox, defineEvents, event } from '../../src/write/index.ts'
import { createTestDatabase, describePostgres } from '../setup/index.ts'

const events = defineEvents({ OrderPlaced: event<{ id: string }>({ aggregate: 'order', key: (e) => e.id, topic: 'orders' }) })

describePostgres('readOutbox on a real database', () => {
  let url: string
  let pool: Pool
  beforeAll(async () => {
    url = (await createTestDatabase()).url
    pool = new Pool({ connectionString: url })
    for (const payload of ['jsonb', 'json', 'text', 'bytea'] as const) await migrate(pool, { schema: payload, payload })
    await migrate(pool)
    await pool.query('create table orders (id text primary key)')
  })
  afterAll(() => pool.end())

  async function place(ids: readonly string[], schema = 'outrider', payload: 'jsonb' | 'json' | 'text' | 'bytea' = 'jsonb'): Promise<void> {
    const outbox = createOutbox({ events, schema, payload })
    const client = await pool.connect()
    await client.query('begin')
    await outbox.writeMany(
      client,
      ids.map((id) => ({ type: 'OrderPlaced' as const, payload: { id }, headers: { tenant: id } })),
    )
    await client.query('commit')
    client.release()
  }

  test('the broker is down: the event stays unsent; it acknowledges: the event is sent', async () => {
    const broker = createMemoryBroker()
    const relay = createRelay({ source: postgres({ url }), publisher: broker })
    broker.goDown()
    await relay.start()
    await place(['o1'])
    expect(await readOutbox(pool, events)).toMatchObject([{ type: 'OrderPlaced', key: 'o1', payload: { id: 'o1' }, state: 'unsent' }])
    broker.comeBack()
    await relay.drain()
    expect(await readOutbox(pool, events)).toMatchObject([
      { id: broker.records()[0]?.headers['eventId'], state: 'sent', headers: { tenant: 'o1' } },
    ])
  })

  for (const payload of ['jsonb', 'json', 'text', 'bytea'] as const) {
    test(`payloads of type ${payload} come parsed`, async () => {
      await place(['a', 'b'], payload, payload)
      expect(await readOutbox(pool, events, { schema: payload })).toMatchObject([
        { seq: 1n, key: 'a', payload: { id: 'a' } },
        { seq: 2n, key: 'b', payload: { id: 'b' } },
      ])
    })
  }

  test('sent is what the position of its own lane has passed, without gap and without parking', async () => {
    const schema = 'json'
    await pool.query('truncate json.outbox restart identity')
    await place(['a', 'a', 'a', 'a', 'b'], schema, 'json')
    const states = async () => (await readOutbox(pool, events, { schema })).map((entry) => entry.state).join(' ')
    const lane = laneOf('a', 8)
    expect(laneOf('b', 8)).not.toBe(lane)
    await pool.query('update json.outbox_position set upto = 3 where lane = $1', [lane])
    expect(await states()).toBe('sent sent sent unsent unsent')
    await pool.query('insert into json.outbox_gap (lane, lo, hi) values ($1, 2, 2), ($2, 1, 1)', [lane, laneOf('b', 8)])
    expect(await states(), 'a gap of another lane does not matter').toBe('sent unsent sent unsent unsent')
    await pool.query(
      `insert into json.outbox_parked (lane, topic, state, seq, id, aggregate_type, event_type, created_at)
       select $1, 'orders', 'failed', seq, id, aggregate_type, event_type, created_at from json.outbox where seq = 1`,
      [lane],
    )
    expect(await states()).toBe('unsent unsent sent unsent unsent')
    await pool.query('update json.outbox_position set upto = 99')
    expect(await states()).toBe('unsent unsent sent sent sent')
  })

  test('a client in a transaction shows what that transaction wrote, and a missing outbox is told', async () => {
    const client = await pool.connect()
    await client.query('begin')
    await createOutbox({ events, schema: 'text', payload: 'text' }).write(client, 'OrderPlaced', { id: 'uncommitted' })
    expect((await readOutbox(client, events, { schema: 'text' })).at(-1)).toMatchObject({ key: 'uncommitted', state: 'unsent' })
    await client.query('rollback')
    client.release()
    expect((await readOutbox(pool, events, { schema: 'text' })).map((entry) => entry.key)).toEqual(['a', 'b'])
    await expect(readOutbox(pool, events, { schema: 'nowhere' })).rejects.toMatchObject({ code: 'OUTBOX_MISSING' })
  })
})
