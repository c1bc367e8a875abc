// A broker that takes its time must cost the database nothing: no transaction stays open meanwhile.
import { Client } from 'pg'
import { expect, test } from 'vitest'
import { createMemoryBroker } from '../../../src/brokers/memory/index.ts'
import { migrate, postgres } from '../../../src/databases/postgres/index.ts'
import { createRelay } from '../../../src/relay/index.ts'
import { createTestDatabase, describePostgres } from '../../setup/index.ts'

describePostgres('a relay whose broker answers slowly', () => {
  test('holds no transaction open, keeps other keys flowing, and survives a session that is ended meanwhile', async () => {
    const database = await createTestDatabase()
    const client = new Client({ connectionString: database.url })
    await client.connect()
    await client.query(`alter database ${database.name} set idle_in_transaction_session_timeout = '300ms'`)
    await migrate(client)
    const broker = createMemoryBroker({ partitions: 16 })
    const relay = createRelay({ source: postgres({ url: database.url, pollMs: 50 }), publisher: broker })
    await relay.start()
    broker.script((message) => (message.key === 'slow' ? 'hang' : undefined))
    const write = (key: string): Promise<unknown> =>
      client.query(
        `insert into outrider.outbox (aggregate_type, aggregate_id, event_type, payload) values ('thing', $1, 'Happened', '{}')`,
        [key],
      )
    await write('slow')
    for (let i = 0; i < 20; i++) await write(`quick-${i}`)
    // All but those that share the partition of the slow one.
    await broker.received(12)
    let longestMs = 0
    for (let look = 0; look < 40; look++) {
      const { rows } = await client.query<{ ms: number }>(
        `select extract(epoch from clock_timestamp() - state_change)::float8 * 1000 as ms from pg_stat_activity
         where datname = current_database() and application_name like 'outrider%' and state like 'idle in transaction%'`,
      )
      longestMs = Math.max(longestMs, ...rows.map((row) => row.ms))
    }
    expect(longestMs).toBeLessThan(200)
    const ended = await client.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name like 'outrider%'`,
    )
    expect(ended.rowCount).toBe(2)
    broker.script(null)
    const records = await broker.received(21)
    expect(new Set(records.map((record) => record.key)).size).toBe(21)
    expect(relay.state).toBe('running')
    await relay.stop()
    await client.end()
  }, 30_000)
})
