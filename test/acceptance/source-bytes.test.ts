// Bytes in, bytes out: what a column keeps is what is handed out. jsonb rewrites its input; what it makes of it is pinned here,
// and told in docs/postgres.md.
import { afterEach, expect, test } from 'vitest'
import type { PayloadType } from '../../src/databases/postgres/index.ts'
import { describePostgres } from '../setup/index.ts'
import { createOutbox, Stepper, type Outbox } from './source-driver.ts'

const deep = '['.repeat(500) + ']'.repeat(500)
const long = 'ä'.repeat(450_000)

/** JSON texts, and what jsonb makes of them; null where it stays as it is. */
const json: readonly (readonly [name: string, text: string, asJsonb: string | null])[] = [
  ['an object with spaces', '{ "a" :1 , "b": 2}', '{"a": 1, "b": 2}'],
  ['keys out of order, one twice', '{"bb":1,"a":2,"bb":3}', '{"a": 2, "bb": 3}'],
  ['a number beyond 2^53', '9007199254740993', null],
  ['a number of 40 digits', '1234567890123456789012345678901234567890', null],
  ['trailing zeros', '1.5000', null],
  ['an exponent', '1E2', '100'],
  ['a huge exponent', '1e400', `1${'0'.repeat(400)}`],
  ['a tiny number', '1e-7', '0.0000001'],
  ['minus zero', '-0.0', '0.0'],
  ['an escaped letter', String.raw`"A\/é"`.replace('A', String.raw`\u0041`), '"A/é"'],
  ['U+2028 and U+2029', '"a\u2028b\u2029c"', null],
  ['emoji and Japanese', '"🚀 日本語"', null],
  ['an emoji as two escapes', String.raw`"\ud83d\ude80"`, '"🚀"'],
  ['control characters', String.raw`"\u0001\t\n"`, null],
  ['deep nesting', deep, null],
  ['an empty object', '{}', null],
  ['an empty text', '""', null],
  ['the JSON null', 'null', null],
  ['900 kB', JSON.stringify(long), null],
]

describePostgres('the bytes of a payload', () => {
  let outbox: Outbox
  let source: Stepper
  afterEach(async () => {
    await source.close()
    await outbox.close()
  })

  /** Sends the payloads through the table, two of them found late, and returns what was handed out, in order. */
  const through = async (payload: PayloadType, values: readonly (string | Buffer | null)[]): Promise<(Buffer | null)[]> => {
    outbox = await createOutbox({ payload })
    source = await Stepper.open(outbox)
    const late = await outbox.connect()
    await late.query('begin')
    for (const [i, value] of values.entries()) {
      const client = i < 2 ? late : outbox.admin
      await client.query(
        `insert into outrider.outbox (aggregate_type, aggregate_id, event_type, payload) values ('thing', 'k', 'Happened', $1)`,
        [value],
      )
    }
    await source.step(0, 4_000_000)
    await late.query('commit')
    await source.rest()
    return source.delivered.toSorted((a, b) => (a.seq < b.seq ? -1 : 1)).map((m) => (m.payload === null ? null : Buffer.from(m.payload)))
  }

  test('json: every byte stays', async () => {
    const texts = json.map(([, text]) => text)
    expect((await through('json', texts)).map(String)).toEqual(texts)
    expect(source.delivered.every((m) => m.contentType === 'application/json')).toBe(true)
  })

  test('jsonb: numbers keep value and scale, beyond 2^53 too; spaces, order of keys, repeated keys, escapes and exponents are rewritten', async () => {
    const out = await through(
      'jsonb',
      json.map(([, text]) => text),
    )
    expect(Object.fromEntries(json.map(([name], i) => [name, String(out[i])]))).toEqual(
      Object.fromEntries(json.map(([name, text, asJsonb]) => [name, asJsonb ?? text])),
    )
  })

  test('jsonb refuses U+0000 and lone surrogates: nothing that could not be stored is ever read', async () => {
    outbox = await createOutbox({ payload: 'jsonb' })
    source = await Stepper.open(outbox)
    for (const text of [String.raw`"\u0000"`, String.raw`"\ud83d"`]) {
      await expect(
        outbox.admin.query(`insert into outrider.outbox (aggregate_type, event_type, payload) values ('thing', 'Happened', $1)`, [text]),
      ).rejects.toThrow()
    }
  })

  test('text: every byte stays, the empty text too', async () => {
    const texts = ['', ' ', 'plain', '{"not": "json"', 'a\u2028b', '🚀', 'tab\tnew\nline\r', '\\x00', '\\', "'", '-0.0', '1e400', long]
    expect((await through('text', texts)).map(String)).toEqual(texts)
    expect(source.delivered.every((m) => m.contentType === 'text/plain')).toBe(true)
  })

  test('bytea: every byte stays, also what is no UTF-8', async () => {
    const every = Buffer.from(Array.from({ length: 256 }, (_, i) => i))
    const values = [
      Buffer.alloc(0),
      Buffer.from([0]),
      every,
      Buffer.from([0xc3, 0x28, 0xff, 0xfe]),
      Buffer.from('\\x41'),
      Buffer.alloc(900_000, 0xa5),
    ]
    const out = await through('bytea', values)
    expect(out.map((b) => b?.toString('hex'))).toEqual(values.map((b) => b.toString('hex')))
    expect(source.delivered.every((m) => m.contentType === 'application/octet-stream')).toBe(true)
  })

  test.each<PayloadType>(['jsonb', 'json', 'text', 'bytea'])('%s: NULL is a tombstone, and not the empty payload', async (payload) => {
    expect(await through(payload, [null, null, null])).toEqual([null, null, null])
  })

  test('key, topic, headers and time come as they were written', async () => {
    outbox = await createOutbox()
    source = await Stepper.open(outbox)
    await outbox.admin.query(`
      insert into outrider.outbox (id, aggregate_type, aggregate_id, event_type, payload, headers, topic, key, created_at) values
        ('018f0000-0000-7000-8000-000000000001', 'order', 'o-1', 'Placed', 'x', '{"trace":"é🚀","empty":"","__proto__":"kept"}', null, null, '2026-02-03 04:05:06.000001+02'),
        ('018f0000-0000-7000-8000-000000000002', 'order', 'o-1', 'Placed', 'x', null, 'elsewhere', '', '2026-02-03 04:05:06+00'),
        ('018f0000-0000-7000-8000-000000000003', 'order', null, 'Placed', 'x', '{"n": 1, "o": {"p": null}}', null, null, '1999-12-31 23:59:59.9+00')`)
    const byId = (await source.rest()).toSorted((a, b) => (a.seq < b.seq ? -1 : 1))
    const common = { aggregateType: 'order', type: 'Placed', attempt: 0 }
    expect(byId).toMatchObject([
      {
        ...common,
        id: '018f0000-0000-7000-8000-000000000001',
        topic: 'order',
        key: 'o-1',
        aggregateId: 'o-1',
        createdAt: '2026-02-03T02:05:06.000001Z',
      },
      { ...common, topic: 'elsewhere', key: '', aggregateId: 'o-1', headers: null, createdAt: '2026-02-03T04:05:06.000000Z' },
      {
        ...common,
        topic: 'order',
        key: null,
        aggregateId: null,
        headers: { n: '1', o: '{"p":null}' },
        createdAt: '1999-12-31T23:59:59.900000Z',
      },
    ])
    expect(new Map(Object.entries(byId[0]!.headers!))).toEqual(
      new Map([
        ['__proto__', 'kept'],
        ['empty', ''],
        ['trace', 'é🚀'],
      ]),
    )
  })
})
