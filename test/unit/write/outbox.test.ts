import { expect, test } from 'vitest'
import * as v from 'valibot'
import { z } from 'zod'
import { createMemoryOutbox } from '../../../src/databases/memory/index.ts'
import { createOutbox, defineEvents, event, rawJson } from '../../../src/write/index.ts'

const Order = z.object({ orderId: z.string(), total: z.string(), note: z.string().optional() })
const events = defineEvents({
  OrderPlaced: event({ schema: Order, aggregate: 'order', key: (e) => e.orderId, topic: 'orders', version: 2, headers: { tenant: 'a' } }),
  Typed: event<{ id: string }>({ aggregate: 'thing', key: (e) => e.id }),
  Loose: event<object>({ aggregate: 'thing', key: null }),
  Coerced: event({ schema: z.object({ at: z.coerce.date(), n: z.coerce.number().default(5) }), aggregate: 'thing', key: null }),
  Unstable: event({ schema: z.object({ s: z.string().transform((s) => s.length) }), aggregate: 'thing', key: null }),
  Growing: event({
    schema: v.object({
      s: v.pipe(
        v.string(),
        v.transform((s) => `${s}!`),
      ),
    }),
    aggregate: 'thing',
    key: null,
  }),
  Slow: event({
    schema: v.pipeAsync(
      v.object({ ok: v.boolean() }),
      v.checkAsync(async (e) => e.ok, 'not ok'),
    ),
    aggregate: 'thing',
    key: null,
  }),
  BadKey: event<{ id: number }>({ aggregate: 'thing', key: (e) => e.id as unknown as string }),
})
const placed = { orderId: 'o1', total: '12.30' }

/** A Kysely-like stand-in: takes what is written, and counts the statements. */
function recorder() {
  const sent: { sql: string; params: readonly unknown[] }[] = []
  const tx = {
    dialect: 'postgres' as const,
    async query(sql: string, params: readonly unknown[]) {
      sent.push({ sql, params })
      return { rows: [], rowCount: 1 }
    },
  }
  return { tx, sent }
}

async function refusal(write: Promise<unknown>): Promise<unknown> {
  return write.then(
    () => null,
    (error: unknown) => error,
  )
}

test('the row has the id that was answered, the key as aggregate id, the topic, and the headers', async () => {
  const memory = createMemoryOutbox()
  const outbox = createOutbox({ events })
  const { id } = await memory.transaction((tx) => outbox.write(tx, 'OrderPlaced', placed, { headers: { traceparent: 't' } }))
  const [entry] = memory.entries()
  expect(entry?.message).toMatchObject({ id, key: 'o1', aggregateId: 'o1', aggregateType: 'order', type: 'OrderPlaced', topic: 'orders' })
  expect(entry?.message.headers).toEqual({ tenant: 'a', traceparent: 't', eventVersion: '2' })
  expect(new TextDecoder().decode(entry?.message.payload ?? undefined)).toBe('{"orderId":"o1","total":"12.30"}')
})

test('key and topic can be overridden for one event, and an empty key is a key', async () => {
  const { tx, sent } = recorder()
  const outbox = createOutbox({ events })
  await outbox.write(tx, 'OrderPlaced', placed, { key: '', topic: 'vip' })
  await outbox.write(tx, 'OrderPlaced', placed, { key: 'o1' })
  expect(sent[0]?.params.slice(2)).toEqual(['o1', 'OrderPlaced', expect.any(String), expect.any(String), 'vip', ''])
  expect(sent[1]?.params[7], 'the same key is no override').toBe(null)
})

test('the SQL is handed to the driver before write returns, when the schema is synchronous', async () => {
  const { tx, sent } = recorder()
  const outbox = createOutbox({ events })
  const one = outbox.write(tx, 'OrderPlaced', placed)
  expect(sent).toHaveLength(1)
  const many = outbox.writeMany(tx, [
    { type: 'OrderPlaced', payload: placed },
    { type: 'Typed', payload: { id: 'x' } },
  ])
  expect(sent).toHaveLength(2)
  await Promise.all([one, many])
  const slow = outbox.write(tx, 'Slow', { ok: true })
  expect(sent, 'an asynchronous schema comes first').toHaveLength(2)
  await slow
  expect(sent).toHaveLength(3)
})

test('the output of the schema is what is stored', async () => {
  const { tx, sent } = recorder()
  await createOutbox({ events }).write(tx, 'Coerced', { at: new Date(0) })
  expect(sent[0]?.params[4]).toBe('{"at":"1970-01-01T00:00:00.000Z","n":5}')
})

test('an output that the schema refuses or changes is not stored, but where that check is off', async () => {
  const { tx, sent } = recorder()
  const outbox = createOutbox({ events })
  expect(await refusal(outbox.write(tx, 'Unstable', { s: 'abc' }))).toMatchObject({ code: 'SCHEMA_NOT_STABLE' })
  expect(await refusal(outbox.write(tx, 'Growing', { s: 'a' }))).toMatchObject({
    code: 'SCHEMA_NOT_STABLE',
    message: expect.stringContaining('from {"s":"a!"} to {"s":"a!!"}'),
  })
  expect(sent).toHaveLength(0)
  await createOutbox({ events, verifySchemas: false }).write(tx, 'Growing', { s: 'a' })
  expect(sent).toHaveLength(1)
})

test.each([
  ['an unknown event', 'Nope', {}, undefined, 'UNKNOWN_EVENT', 'OrderPlaced, Typed'],
  ['a name that every object has', 'toString', {}, undefined, 'UNKNOWN_EVENT', ''],
  ['a missing field', 'OrderPlaced', { orderId: 'x' }, undefined, 'PAYLOAD_INVALID', 'payload.total'],
  ['an asynchronous refusal', 'Slow', { ok: false }, undefined, 'PAYLOAD_INVALID', 'not ok'],
  ['NUL', 'OrderPlaced', { ...placed, note: 'a\u0000' }, undefined, 'PAYLOAD_NOT_STORABLE', 'payload.note'],
  ['a key with NUL', 'OrderPlaced', { ...placed, orderId: 'a\u0000' }, undefined, 'PAYLOAD_NOT_STORABLE', 'payload.orderId'],
  ['an override with NUL', 'OrderPlaced', placed, { key: 'a\u0000' }, 'KEY_INVALID', 'U+0000'],
  ['a key that is a number', 'BadKey', { id: 7 }, undefined, 'KEY_INVALID', 'is number'],
  ['an override that is no text', 'OrderPlaced', placed, { key: 7 }, 'KEY_INVALID', 'not a string'],
  ['an empty topic', 'OrderPlaced', placed, { topic: '' }, 'TOPIC_INVALID', 'empty'],
  ['a topic with half a pair', 'OrderPlaced', placed, { topic: '\ud800' }, 'TOPIC_INVALID', 'U+D800'],
  ['a header with NUL', 'OrderPlaced', placed, { headers: { a: 'x\u0000' } }, 'HEADERS_INVALID', 'headers["a"]'],
  ['a header name with NUL', 'OrderPlaced', placed, { headers: { 'x\u0000': 'a' } }, 'HEADERS_INVALID', 'U+0000'],
  ['a nested header', 'OrderPlaced', placed, { headers: { a: { b: 'c' } } }, 'HEADERS_INVALID', 'object, not a string'],
  ['a header without a value', 'OrderPlaced', placed, { headers: { a: undefined } }, 'HEADERS_INVALID', 'undefined'],
  ['a header of Outrider', 'OrderPlaced', placed, { headers: { eventId: 'x' } }, 'HEADERS_INVALID', 'Outrider'],
  ['headers in a Map', 'OrderPlaced', placed, { headers: new Map() }, 'HEADERS_INVALID', 'flat'],
  [
    'a payload over the limit',
    'Loose',
    { text: 'é'.repeat(500_000) },
    undefined,
    'PAYLOAD_TOO_LARGE',
    '1000011 bytes, the limit is 900000',
  ],
  ['a tombstone without its key', 'OrderPlaced', null, undefined, 'KEY_INVALID', 'has to be passed'],
])('%s is refused before any SQL is sent', async (_, type, payload, options, code, text) => {
  const { tx, sent } = recorder()
  const outbox = createOutbox({ events })
  const error = await refusal(outbox.write(tx, type as 'Loose', payload, options as never))
  expect(error).toMatchObject({ code, name: 'OutriderError' })
  expect(String(error)).toContain(text)
  expect(sent).toHaveLength(0)
  const many = await refusal(outbox.writeMany(tx, [{ type: 'Loose', payload: {} }, { type, payload, ...(options as object) } as never]))
  expect(many).toMatchObject({ code })
  if (code !== 'UNKNOWN_EVENT') expect(String(many)).toContain('(events[1])')
  expect(sent).toHaveLength(0)
})

test('the limit counts bytes: one more is refused', async () => {
  const { tx } = recorder()
  const outbox = createOutbox({ events, maxPayloadBytes: 15 })
  await outbox.write(tx, 'Loose', { a: 'é€12' })
  expect(await refusal(outbox.write(tx, 'Loose', { a: 'é€123' }))).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' })
})

test('the first refusal of many is told, and no other is left unhandled', async () => {
  const { tx, sent } = recorder()
  const outbox = createOutbox({ events })
  const slowFirst = outbox.writeMany(tx, [
    { type: 'Slow', payload: { ok: false } },
    { type: 'OrderPlaced', payload: {} as never },
  ])
  expect(await refusal(slowFirst)).toMatchObject({ message: expect.stringContaining('events[1]') })
  expect(sent).toHaveLength(0)
})

test('raw JSON and bytes are stored as they are; their key is computed, or passed', async () => {
  const { tx, sent } = recorder()
  const text = '{"orderId":"o9" , "total":1.10}'
  await createOutbox({ events }).write(tx, 'OrderPlaced', rawJson(text))
  await createOutbox({ events, payload: 'json' }).write(tx, 'OrderPlaced', new TextEncoder().encode(text))
  expect(sent.map((s) => [s.params[2], s.params[4]])).toEqual([
    ['o9', text],
    ['o9', text],
  ])
  const bytes = createOutbox({ events, payload: 'bytea' })
  await bytes.write(tx, 'OrderPlaced', new Uint8Array([0, 255]), { key: 'k' })
  expect(sent[2]?.params.slice(2)).toEqual(['k', 'OrderPlaced', '00ff', expect.any(String), 'orders', null])
  expect(await refusal(bytes.write(tx, 'OrderPlaced', new Uint8Array([0])))).toMatchObject({ code: 'KEY_INVALID' })
  const notText = createOutbox({ events }).write(tx, 'Loose', new Uint8Array([255]))
  expect(await refusal(notText)).toMatchObject({ code: 'PAYLOAD_NOT_STORABLE', hint: expect.stringContaining('bytea') })
  expect(await refusal(createOutbox({ events }).write(tx, 'Loose', { inner: rawJson('1') }))).toMatchObject({
    code: 'PAYLOAD_NOT_STORABLE',
  })
})

test('a tombstone has a key and no payload', async () => {
  const { tx, sent } = recorder()
  await createOutbox({ events }).write(tx, 'OrderPlaced', null, { key: 'o1' })
  expect(sent[0]?.params.slice(2, 5)).toEqual(['o1', 'OrderPlaced', null])
})

test('nothing to write sends nothing', async () => {
  const { tx, sent } = recorder()
  expect(await createOutbox({ events }).writeMany(tx, [])).toEqual({ ids: [] })
  expect(sent).toHaveLength(0)
})

test('an ambient outbox finds the transaction by itself, and refuses without one', async () => {
  const { tx, sent } = recorder()
  let current: object | null = tx
  const outbox = createOutbox({ events, transaction: () => current })
  await outbox.write('OrderPlaced', placed)
  await outbox.writeMany([{ type: 'OrderPlaced', payload: placed }])
  expect(sent).toHaveLength(2)
  current = null
  expect(await refusal(outbox.write('OrderPlaced', placed))).toMatchObject({ code: 'NOT_IN_TRANSACTION' })
})

test('names and settings that cannot work are refused at once', () => {
  for (const options of [{ schema: '' }, { table: 'x'.repeat(64) }, { payload: 'xml' }, { maxPayloadBytes: 0 }, { events: undefined }]) {
    expect(() => createOutbox({ events, ...options } as never), JSON.stringify(options)).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID' }),
    )
  }
})
