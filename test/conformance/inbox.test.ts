import { Pool } from 'pg'
import { describe, expect, test } from 'vitest'
import { migrate } from '../../src/databases/postgres/index.ts'
import { createInbox } from '../../src/inbox/index.ts'
import { selectCases } from '../../src/testing/conformance/case.ts'
import { inboxCases } from '../../src/testing/conformance/inbox-cases.ts'
import type { InboxHarness } from '../../src/testing/conformance/inbox-cases.ts'
import { defineEvents } from '../../src/write/index.ts'
import { createTestDatabase, describePostgres } from '../setup/index.ts'
import { memoryInbox } from './memory-harness.ts'

const postgresInbox: InboxHarness = {
  can: ['consumers', 'overlap'],
  async create() {
    const { url } = await createTestDatabase()
    const pool = new Pool({ connectionString: url })
    const admin = await pool.connect()
    await migrate(admin)
    await admin.query('create table effect (at timestamptz default now())')
    admin.release()
    const events = defineEvents({})
    return {
      async begin() {
        const client = await pool.connect()
        await client.query('begin')
        const end = async (how: string): Promise<void> => {
          await client.query(how)
          client.release()
        }
        return {
          once: (consumer, id, fn) => createInbox({ consumer, events }).once(client, { id }, fn),
          effect: async () => void (await client.query('insert into effect default values')),
          commit: () => end('commit'),
          rollback: () => end('rollback'),
        }
      },
      effects: async () => Number((await pool.query<{ n: string }>('select count(*) as n from effect')).rows[0]?.n),
      close: () => pool.end(),
    }
  },
}

for (const [describeIt, name, harness] of [
  [describe, 'the inbox in memory', memoryInbox()],
  [describePostgres, 'the inbox in PostgreSQL', postgresInbox],
] as const) {
  describeIt(name, () => {
    const { run, skipped } = selectCases(inboxCases, harness)
    test.each(run)('$name', (one) => one.run(harness))
    test('runs every case', () => expect(skipped).toEqual([]))
  })
}
