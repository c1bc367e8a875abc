import { describe, expect, test } from 'vitest'
import { postgres } from '../../src/databases/postgres/index.ts'
import { selectCases } from '../../src/testing/conformance/case.ts'
import { sourceCases } from '../../src/testing/conformance/source-cases.ts'
import type { SourceHarness } from '../../src/testing/conformance/source-harness.ts'
import { createOutbox, eventually } from '../acceptance/source-driver.ts'
import { describePostgres } from '../setup/index.ts'

const harness: SourceHarness = {
  can: ['lateCommits', 'loss', 'manyRelays', 'bigNumbers'],
  async create() {
    const outbox = await createOutbox()
    return {
      source: () => postgres({ url: outbox.url }),
      async begin() {
        const client = await outbox.connect()
        await client.query('begin')
        return {
          async write(rows) {
            for (const one of rows) {
              const { id, aggregateType, aggregateId, type, payload, headers, topic, key } = one
              await client.query(
                `insert into outrider.outbox (id, aggregate_type, aggregate_id, event_type, payload, headers, topic, key)
                 values ($1, $2, $3, $4, $5, $6, $7, $8)`,
                [id, aggregateType, aggregateId, type, payload, headers, topic, key],
              )
            }
          },
          commit: async () => void (await client.query('commit')),
          rollback: async () => void (await client.query('rollback')),
        }
      },
      async lose(source) {
        await outbox.admin.query(
          `select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
        )
        await eventually('the source knows of its loss', () =>
          source.lag().then(
            () => false,
            () => true,
          ),
        )
      },
      numberFrom: async (seq) => void (await outbox.admin.query(`select setval('outrider.outbox_seq_seq', $1)`, [seq.toString()])),
      close: () => outbox.close(),
    }
  },
}

describePostgres('the PostgreSQL log source', () => {
  const { run, skipped } = selectCases(sourceCases, harness)
  describe('conforms', () => {
    test.each(run)('$name', (one) => one.run(harness))
  })
  test('runs every case', () => expect(skipped).toEqual([]))
})
