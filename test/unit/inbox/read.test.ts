import { expect, test } from 'vitest'
import * as v from 'valibot'
import { z } from 'zod'
import { createInbox } from '../../../src/inbox/index.ts'
import { defineEvents, event } from '../../../src/write/index.ts'

const events = defineEvents({
  OrderPlaced: event({ schema: z.object({ orderId: z.string(), at: z.coerce.date() }), aggregate: 'order', key: (e) => e.orderId }),
  Typed: event<{ n: number }>({ aggregate: 'thing', key: null }),
  Evolved: event({
    schema: z.object({ total: z.string(), currency: z.string() }),
    aggregate: 'order',
    key: null,
    version: 3,
    upcast: (payload, version) => {
      const old = payload as { total: number; currency?: string }
      if (version === 1) throw new Error('too old')
      return { total: String(old.total), currency: old.currency ?? 'EUR' }
    },
  }),
  Slow: event({
    schema: v.pipeAsync(
      v.object({ ok: v.boolean() }),
      v.checkAsync(async (e) => e.ok, 'not ok'),
    ),
    aggregate: 'thing',
    key: null,
  }),
  Text: event({ schema: z.string() as unknown as z.ZodType<object>, aggregate: 'thing', key: null }),
  Bytes: event({ schema: z.instanceof(Uint8Array), aggregate: 'thing', key: null }),
})
const inbox = createInbox({ consumer: 'billing', events })

const id = '01890a5d-ac96-774b-bcce-b302099a8057'
const payload = { orderId: 'o1', at: '2026-01-01T00:00:00.000Z' }
const bytes = (text: string): Buffer => Buffer.from(text)
const facts = { eventId: id, eventType: 'OrderPlaced', eventTime: '2026-01-01T00:00:00.000001Z', aggregateType: 'order', tenant: 'a' }
const json = bytes(JSON.stringify(payload))

/** One record as each client hands it over. */
const records: Record<string, object> = {
  '@platformatic/kafka': {
    topic: 'orders',
    partition: 3,
    offset: 42n,
    timestamp: 0n,
    key: bytes('o1'),
    value: json,
    headers: new Map(Object.entries(facts).map(([name, value]) => [bytes(name), bytes(value)])),
  },
  '@platformatic/kafka with deserializers': {
    topic: 'orders',
    partition: 3,
    offset: 42n,
    key: 'o1',
    value: payload,
    headers: new Map(Object.entries(facts)),
  },
  'kafkajs, as eachMessage gets it': {
    topic: 'orders',
    partition: 3,
    message: {
      key: bytes('o1'),
      value: json,
      offset: '42',
      headers: Object.fromEntries(Object.entries(facts).map(([name, value]) => [name, bytes(value)])),
    },
  },
  'kafkajs, several values of a header': {
    topic: 'orders',
    partition: 3,
    message: { key: bytes('o1'), value: json, offset: '42', headers: { ...facts, tenant: [bytes('z'), 'a'] } },
  },
  'node-rdkafka and Confluent': {
    topic: 'orders',
    partition: 3,
    offset: 42,
    key: bytes('o1'),
    value: json,
    headers: Object.entries(facts).map(([name, value]) => ({ [name]: bytes(value) })),
  },
  'the memory broker': { topic: 'orders', partition: 3, offset: 42, key: 'o1', value: new Uint8Array(json), headers: facts },
}

test.each(Object.entries(records))('a record of %s becomes the same message', (_, given) => {
  expect(inbox.read(given)).toEqual({
    type: 'OrderPlaced',
    payload: { orderId: 'o1', at: new Date(payload.at) },
    id,
    key: 'o1',
    headers: facts,
    time: facts.eventTime,
    aggregateType: 'order',
    topic: 'orders',
    position: 'orders/3/42',
    version: 1,
  })
})

test('a message alone, without its place, is enough', () => {
  expect(inbox.read({ key: null, value: json, headers: facts })).toMatchObject({ type: 'OrderPlaced', key: null, position: null })
})

function record(type: string, value: unknown, headers: object = {}): object {
  const own = typeof value === 'string' ? bytes(value) : value
  return { topic: 't', partition: 0, offset: '7', key: null, value: own, headers: { eventId: id, eventType: type, ...headers } }
}
function refusal(given: object): unknown {
  try {
    return inbox.read(given)
  } catch (error) {
    return error
  }
}

test('an unknown type, and a version newer than the own, are unknown and keep their bytes', () => {
  const value = bytes('{"x":1}')
  expect(inbox.read(record('Nope', value))).toMatchObject({ type: 'unknown', eventType: 'Nope', reason: 'type', payload: value })
  expect(inbox.read(record('toString', value))).toMatchObject({ type: 'unknown' })
  expect(inbox.read(record('Typed', value, { eventVersion: '2' }))).toMatchObject({ type: 'unknown', reason: 'version', version: 2 })
  expect(inbox.read(record('Evolved', value, { eventVersion: '4' }))).toMatchObject({ type: 'unknown', reason: 'version' })
})

test('an older version is brought to the own one, and the schema checks the result', () => {
  expect(inbox.read(record('Evolved', '{"total":5}', { eventVersion: '2' }))).toMatchObject({
    payload: { total: '5', currency: 'EUR' },
    version: 2,
  })
  expect(inbox.read(record('Evolved', '{"total":"5","currency":"USD"}', { eventVersion: '3' }))).toMatchObject({
    payload: { total: '5', currency: 'USD' },
  })
  expect(refusal(record('Evolved', '{"total":5}'))).toMatchObject({ code: 'DECODE_FAILED', message: expect.stringContaining('too old') })
})

test('a record without a value is a tombstone', () => {
  expect(inbox.read(record('OrderPlaced', null))).toMatchObject({ type: 'tombstone', eventType: 'OrderPlaced', payload: null, id })
  expect(inbox.read(record('OrderPlaced', undefined))).toMatchObject({ type: 'tombstone' })
})

test.each([
  ['no JSON', record('OrderPlaced', '{'), 'no JSON'],
  ['an empty value', record('OrderPlaced', ''), 'no JSON'],
  ['bytes that are no text', record('OrderPlaced', new Uint8Array([0xff])), 'no JSON'],
  ['a payload that the schema refuses', record('OrderPlaced', '{"orderId":7}'), 'payload.orderId'],
  ['no event id', { value: json, headers: { eventType: 'OrderPlaced' } }, 'no header eventId'],
  ['an empty event id', record('OrderPlaced', json, { eventId: '' }), 'no id'],
  ['an event id that no table stores', record('OrderPlaced', json, { eventId: 'a\u0000' }), 'no id'],
  ['no event type', { value: json, headers: { eventId: id } }, 'no header eventType'],
  ['no headers at all', { value: json }, 'no header eventId'],
  ['a version that is none', record('OrderPlaced', json, { eventVersion: '1.5' }), 'eventVersion is "1.5"'],
  ['something that is no record', { a: 1 }, 'an object with a'],
  ['nothing', null as unknown as object, 'got null'],
])('%s cannot be decoded, and the error says where and why', (_, given, text) => {
  const error = refusal(given)
  expect(error).toMatchObject({ code: 'DECODE_FAILED', retryable: false })
  expect(String(error)).toContain(text)
})

test('the error names the place and what the record claims to be', () => {
  expect(String(refusal(record('OrderPlaced', '{', { eventVersion: '1' })))).toContain(
    `The record t/0/7 (eventId ${id}, eventType OrderPlaced, eventVersion 1)`,
  )
})

test('what is no JSON and does not claim to be comes as text or as bytes', () => {
  expect(inbox.read(record('Text', 'plain', { 'content-type': 'text/plain' }))).toMatchObject({ payload: 'plain' })
  const raw = new Uint8Array([0, 255])
  expect(inbox.read(record('Bytes', raw, { 'content-type': 'application/octet-stream' }))).toMatchObject({ payload: raw })
  expect(inbox.read(record('Typed', '{"n":1}', { 'content-type': 'application/octet-stream' }))).toMatchObject({ payload: { n: 1 } })
})

test('an asynchronous schema is read by readAsync, and read says so', async () => {
  expect(refusal(record('Slow', '{"ok":true}'))).toMatchObject({ code: 'USAGE', hint: expect.stringContaining('readAsync') })
  expect(refusal(record('Slow', '{"ok":false}'))).toMatchObject({ code: 'USAGE' })
  expect(await inbox.readAsync(record('Slow', '{"ok":true}'))).toMatchObject({ type: 'Slow', payload: { ok: true } })
  await expect(inbox.readAsync(record('Slow', '{"ok":false}'))).rejects.toMatchObject({ code: 'DECODE_FAILED' })
})

test('a consumer, columns and a wait that cannot work are refused at once', () => {
  for (const options of [
    { consumer: '' },
    { consumer: 'a\u0000' },
    { events: undefined },
    { lockTimeoutMs: 0 },
    { schema: '' },
    { table: { name: '', messageId: 'id' } },
    { table: { name: 't', messageId: '' } },
  ]) {
    expect(() => createInbox({ consumer: 'c', events, ...options } as never), JSON.stringify(options)).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID' }),
    )
  }
})

/** Never called: only its types matter. */
export function types(given: object): string {
  const m = inbox.read(given)
  switch (m.type) {
    case 'OrderPlaced':
      return m.payload.orderId + m.payload.at.toISOString()
    case 'Typed':
      // @ts-expect-error a number is no text
      return m.payload.n
    case 'unknown':
      return m.eventType + m.reason
    case 'tombstone':
      return String(m.payload satisfies null)
    default:
      return m.id
  }
}
