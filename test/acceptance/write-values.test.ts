// Random values through the real server: what the checks let pass must be stored as it was, and must never end the caller's transaction.
import {
  array,
  assert,
  asyncProperty,
  constantFrom,
  dictionary,
  jsonValue,
  option,
  record,
  string,
  stringMatching,
  tuple,
} from 'fast-check'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isOutriderError } from '../../src/core/index.ts'
import { migrate } from '../../src/databases/postgres/migrate.ts'
import { readOutbox } from '../../src/testing/index.ts'
import { createOutbox, defineEvents, event, rawJson } from '../../src/write/index.ts'
import { createTestDatabase, describePostgres } from '../setup/index.ts'

const events = defineEvents({ Any: event<object>({ aggregate: 'thing', key: null }) })
const columns = ['jsonb', 'json', 'text', 'bytea'] as const

describePostgres('random values', () => {
  let client: Client
  beforeAll(async () => {
    client = new Client({ connectionString: (await createTestDatabase()).url })
    await client.connect()
    for (const payload of columns) await migrate(client, { schema: payload, payload })
  })
  afterAll(() => client.end())

  /** What is stored after `write`, in a transaction that is rolled back; null when it was refused before any SQL, and the transaction went on. */
  async function stored(column: string, write: () => Promise<unknown>) {
    await client.query('begin')
    try {
      await write()
      return await readOutbox(client, undefined, { schema: column })
    } catch (error) {
      if (!isOutriderError(error)) throw error
      expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }])
      return null
    } finally {
      await client.query('rollback')
    }
  }

  const text = string({ unit: 'binary', maxLength: 12 })
  const awkward = constantFrom('', '"', '\\', '{', '}', ',', 'NULL', 'null', "'", '\n', '\\"', '{"a"}', '😀')
  const key = option(
    tuple(text, awkward).map((parts) => parts.join('')),
    { nil: undefined },
  )
  const one = record({
    value: jsonValue({ maxDepth: 4, stringUnit: 'binary' }),
    key,
    topic: option(string({ minLength: 1 }), { nil: undefined }),
    headers: dictionary(string({ minLength: 1 }), text),
  })

  for (const column of columns) {
    test(`every event that is taken comes back from ${column} as it was`, async () => {
      const outbox = createOutbox({ events, schema: column, payload: column })
      await assert(
        asyncProperty(array(one, { minLength: 1, maxLength: 6 }), async (wanted) => {
          const entries = await stored(column, () =>
            outbox.writeMany(
              client,
              wanted.map(({ value, ...facts }) => ({ type: 'Any' as const, payload: { value }, ...facts }) as never),
            ),
          )
          const hasNul = JSON.stringify(wanted).includes('\\u0000')
          if (entries === null) expect(hasNul || wanted.some((w) => Object.keys(w.headers).includes('eventId'))).toBe(true)
          else {
            const same = column === 'jsonb' ? sorted : (value: unknown) => value
            expect(entries.map((e) => [JSON.stringify(same(e.payload)), e.key, e.topic, e.headers])).toEqual(
              wanted.map((w) => [JSON.stringify(same({ value: w.value })), w.key ?? null, w.topic ?? 'thing', w.headers]),
            )
          }
        }),
        { numRuns: 60 },
      )
    }, 60_000)
  }

  test('raw JSON that passes the check is never refused by the server', async () => {
    const outbox = createOutbox({ events, schema: 'jsonb' })
    const json = createOutbox({ events, schema: 'json', payload: 'json' })
    const escape = stringMatching(/^(\\u(0000|0001|d83d|de00|00e9)|\\n|\\\\|a){0,5}$/)
    const number = stringMatching(/^-?(0|[1-9][0-9]{0,3})(\.[0-9]{1,3})?([eE][+-]?[0-9]{1,6})?$/)
    await assert(
      asyncProperty(escape, number, async (escaped, digits) => {
        const raw = `{"${escaped}":["${escaped}", ${digits}]}`
        await stored('jsonb', () => outbox.write(client, 'Any', rawJson(raw)))
        await stored('json', () => json.write(client, 'Any', rawJson(raw)))
      }),
      {
        numRuns: 150,
        examples: [
          ['\\ud83d\\ude00', '1e15000'],
          ['\\\\u0000', '1e400'],
          ['\\u0000', '1'],
          ['', '1e131073'],
        ],
      },
    )
  }, 60_000)
})

/** The same value with the keys of its objects in one order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => sorted(item))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, item]) => [name, sorted(item)]),
  )
}
