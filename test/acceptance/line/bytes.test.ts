// From the column to the topic, byte for byte: payloads that something on the way might want to understand.
import { Client } from 'pg'
import { expect, test } from 'vitest'
import { kafka } from '../../../src/brokers/kafka/index.ts'
import { migrate, postgres, type PayloadType } from '../../../src/databases/postgres/index.ts'
import { createRelay } from '../../../src/relay/index.ts'
import { readTopic, type StoredRecord } from '../../conformance/kafka-topic.ts'
import { createTestDatabase, createTestTopic, describeLine, kafkaBrokers } from '../../setup/index.ts'

const json: readonly (string | null)[] = [
  null,
  '{}',
  '""',
  'null',
  '{"b":1,"a":1.0,"a":2, "n":1e2}',
  '{"id":7088992364139642881,"amt":12345678901234567890.123456789000,"e":1e400,"neg0":-0.0,"small":1e-30}',
  '"U+2028 \u2028 U+2029 \u2029"',
  '"🚀 日本語 \\u00e9 é"',
  '['.repeat(500) + ']'.repeat(500),
  JSON.stringify('x'.repeat(900_000)),
]
const binary: readonly (Buffer | null)[] = [null, Buffer.alloc(0), Buffer.from([0, 255, 254, 128, 10]), Buffer.alloc(900_000, 0xfe)]
const headers: readonly (Record<string, string> | null)[] = [
  null,
  {},
  { empty: '', spaces: '  ', lines: 'a\nb\r\nc', quotes: `"'\\`, emoji: '🚀', 'x-Name.With_signs': '1', __proto__x: 'y' },
]

describeLine('from the outbox to Kafka', () => {
  for (const payload of ['jsonb', 'json', 'text', 'bytea'] satisfies PayloadType[]) {
    test(`a payload of type ${payload} arrives as the database has it, and a second time as the first`, async () => {
      const database = await createTestDatabase()
      const topic = await createTestTopic({ partitions: 1, configs: { 'max.message.bytes': '2000000' } })
      const brokers = await kafkaBrokers()
      const client = new Client({ connectionString: database.url })
      await client.connect()
      await migrate(client, { payload })
      const values = payload === 'bytea' ? binary : payload === 'text' ? [...json, '', 'no JSON at all', ' \t'] : json
      for (const [i, value] of values.entries()) {
        await client.query(
          `insert into outrider.outbox (aggregate_type, aggregate_id, event_type, topic, payload, headers) values ('thing', 'k', 'Happened', $1, $2, $3)`,
          [topic, value, headers[i % headers.length]],
        )
      }
      const stored = await client.query<{ id: string; bytes: Buffer | null }>(
        `select id, ${payload === 'bytea' ? 'payload' : `convert_to(payload::text, 'UTF8')`} as bytes from outrider.outbox order by seq`,
      )
      const deliver = async (): Promise<StoredRecord[]> => {
        const relay = createRelay({ source: postgres({ url: database.url }), publisher: kafka({ brokers, maxRequestBytes: 2_000_000 }) })
        expect(await relay.drain({ maxMs: 30_000 })).toMatchObject({ delivered: values.length, backlog: 0 })
        return readTopic(brokers, topic)
      }
      const first = await deliver()
      expect(first.map((record) => record.value)).toEqual(stored.rows.map((row) => row.bytes))
      expect(first.map((record) => record.headers.find(([name]) => name === 'eventId')?.[1]?.toString())).toEqual(
        stored.rows.map((row) => row.id),
      )
      for (const [i, record] of first.entries()) {
        const own = Object.fromEntries(record.headers.slice(5).map(([name, value]) => [name, value?.toString()]))
        expect(own).toEqual(headers[i % headers.length] ?? {})
      }
      if (payload !== 'jsonb' && payload !== 'bytea') expect(first.map((record) => record.value?.toString() ?? null)).toEqual(values)

      await client.query('update outrider.outbox_position set upto = 0')
      const again = (await deliver()).slice(first.length)
      expect(again.map((record) => record.value)).toEqual(first.map((record) => record.value))
      await client.end()
    })
  }
})
