import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { migrate } from '../../src/databases/postgres/migrate.ts'
import { createOutbox, defineEvents, event, rawJson } from '../../src/write/index.ts'
import { createTestDatabase, describePostgres } from '../setup/index.ts'

const events = defineEvents({ Any: event<object>({ aggregate: 'thing', key: null }) })
const raw =
  '{"b":1,"a":1.0,"a":2 ,  "n":1e2,"2":0,"1":0,"id":7088992364139642881,"amt":12345678901234567890.123456789,"e":1e400,"neg0":-0.0}'
const awkward = [
  {},
  { '': '' },
  { u: '\u2028\u2029', e: '😀👨‍👩‍👧', q: '"\\\n\t', c: '\u0001\u007f' },
  { deep: deep(900) },
  { big: 'x'.repeat(890_000) },
  [1, [2]],
]

function deep(levels: number): unknown {
  return levels === 0 ? null : [deep(levels - 1)]
}

describePostgres('what arrives in each type of payload column', () => {
  let client: Client
  beforeAll(async () => {
    const { url } = await createTestDatabase()
    client = new Client({ connectionString: url })
    await client.connect()
    for (const payload of ['jsonb', 'json', 'text', 'bytea'] as const) await migrate(client, { schema: payload, payload })
  })
  afterAll(() => client.end())

  /** What was stored, as text. */
  async function written(schema: string, write: () => Promise<unknown>): Promise<(string | null)[]> {
    await client.query(`delete from ${schema}.outbox`)
    await client.query('begin')
    await write()
    await client.query('commit')
    const read = schema === 'bytea' ? `convert_from(payload, 'UTF8')` : 'payload::text'
    return (await client.query(`select ${read} as text from ${schema}.outbox order by seq`)).rows.map((row) => row.text)
  }

  for (const payload of ['json', 'text', 'bytea'] as const) {
    test(`${payload} keeps each byte`, async () => {
      const outbox = createOutbox({ events, schema: payload, payload })
      const many = [...awkward.map((value) => ({ type: 'Any' as const, payload: value })), { type: 'Any' as const, payload: rawJson(raw) }]
      const expected = [...awkward.map((value) => JSON.stringify(value)), raw]
      expect(await written(payload, () => outbox.writeMany(client, many))).toEqual(expected)
      expect(await written(payload, () => outbox.write(client, 'Any', rawJson(raw)))).toEqual([raw])
      expect(await written(payload, () => outbox.write(client, 'Any', new TextEncoder().encode(raw)))).toEqual([raw])
      expect(await written(payload, () => outbox.write(client, 'Any', null))).toEqual([null])
    })
  }

  for (const payload of ['json', 'text'] as const) {
    test(`a writer that was not told keeps each byte in ${payload} all the same`, async () => {
      const untold = createOutbox({ events, schema: payload })
      expect(await written(payload, () => untold.write(client, 'Any', rawJson(raw)))).toEqual([raw])
    })
  }

  test('bytea takes bytes that are no text, alone and among others', async () => {
    const outbox = createOutbox({ events, schema: 'bytea', payload: 'bytea' })
    const bytes = Uint8Array.from({ length: 256 }, (_, i) => i)
    const empty = new Uint8Array()
    await client.query('delete from bytea.outbox')
    await client.query('begin')
    await outbox.write(client, 'Any', bytes)
    await outbox.writeMany(client, [
      { type: 'Any', payload: empty },
      { type: 'Any', payload: bytes },
    ])
    await client.query('commit')
    const { rows } = await client.query('select payload from bytea.outbox order by seq')
    expect(rows.map((row) => new Uint8Array(row.payload))).toEqual([bytes, empty, bytes])
  })

  test('text takes a text that is no JSON, also the empty one', async () => {
    const outbox = createOutbox({ events, schema: 'text', payload: 'text' })
    for (const text of ['', 'plain, "quoted" \\ text', 'NULL']) {
      expect(await written('text', () => outbox.write(client, 'Any', new TextEncoder().encode(text)))).toEqual([text])
    }
  })

  test('jsonb keeps the values and rewrites the text', async () => {
    const outbox = createOutbox({ events, schema: 'jsonb' })
    const [text] = await written('jsonb', () => outbox.write(client, 'Any', rawJson(raw)))
    expect(text).toContain('"a": 2, "b": 1')
    expect(text).toContain('"id": 7088992364139642881')
    expect(text).toContain('"amt": 12345678901234567890.123456789')
    expect(text).toContain(`"e": 1${'0'.repeat(400)}`)
    expect(text).toContain('"neg0": 0.0')
    const many = await written('jsonb', () =>
      outbox.writeMany(
        client,
        awkward.map((value) => ({ type: 'Any' as const, payload: value })),
      ),
    )
    expect(many.map((stored) => JSON.parse(stored ?? ''))).toEqual(awkward)
  })

  test('a bytea column refuses a writer that was not told', async () => {
    await client.query('begin')
    await expect(createOutbox({ events, schema: 'bytea' }).write(client, 'Any', {})).rejects.toMatchObject({ code: '42804' })
    await client.query('rollback')
  })
})
