import { Pool } from 'pg'
import { expect, test } from 'vitest'
import { startPgBouncer } from '../../servers/pgbouncer.ts'
import { migrate } from '../../src/databases/postgres/index.ts'
import { createInbox } from '../../src/inbox/index.ts'
import { readOutbox } from '../../src/testing/index.ts'
import { createOutbox, defineEvents, event } from '../../src/write/index.ts'
import { createTestDatabase, describePostgres } from '../setup/index.ts'

const events = defineEvents({ Placed: event<{ id: string }>({ aggregate: 'order', key: (e) => e.id }) })
const outbox = createOutbox({ events })
const inbox = createInbox({ consumer: 'billing', events, lockTimeoutMs: 5000 })

describePostgres('behind PgBouncer in transaction mode', () => {
  test('twenty writers and consumers on two server connections: everything once, and no setting leaks from one to the next', async () => {
    const { url } = await createTestDatabase()
    await using pooler = await startPgBouncer({ databaseUrl: url, poolSize: 2 })
    const pool = new Pool({ connectionString: pooler.url, max: 20 })
    try {
      const admin = await pool.connect()
      await migrate(admin)
      admin.release()
      const work = Array.from({ length: 60 }, async (_, i) => {
        const client = await pool.connect()
        try {
          await client.query('begin')
          const { status } = await inbox.once(client, { id: `m${i % 30}` }, () => outbox.write(client, 'Placed', { id: `o${i % 30}` }))
          await client.query('commit')
          expect((await client.query('show lock_timeout')).rows[0].lock_timeout).toBe('0')
          return status
        } finally {
          client.release()
          outbox.kick(pool)
        }
      })
      const statuses = await Promise.all(work)
      expect(statuses.filter((status) => status === 'processed')).toHaveLength(30)
      expect(new Set((await readOutbox(pool, events)).map((entry) => entry.key)).size).toBe(30)
    } finally {
      await pool.end()
    }
  })
})
