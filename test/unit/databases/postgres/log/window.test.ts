import { expect, test } from 'vitest'
import { contentTypeOf, headersOf, messageOf, timestamp, type Row } from '../../../../../src/databases/postgres/log/window.ts'

test.each([
  ['2026-12-01 00:30:02.5+00', '2026-12-01T00:30:02.500000Z'],
  ['2026-12-01 00:30:02+00', '2026-12-01T00:30:02.000000Z'],
  ['2026-12-01 00:30:02.000001+00', '2026-12-01T00:30:02.000001Z'],
  ['1999-12-31 23:59:59.123456+00', '1999-12-31T23:59:59.123456Z'],
  ['infinity', 'infinity'],
])('the time %s is %s', (text, expected) => {
  expect(timestamp(text)).toBe(expected)
})

test.each([
  ['{"a": "1", "b": ""}', { a: '1', b: '' }],
  ['{}', {}],
  ['null', null],
  ['{"n": 1, "t": true, "z": null, "o": {"p": [1]}}', { n: '1', t: 'true', z: 'null', o: '{"p":[1]}' }],
  ['["a"]', { headers: '["a"]' }],
  ['"text"', { headers: '"text"' }],
  ['7', { headers: '7' }],
])('the headers %s are %j', (json, expected) => {
  expect(headersOf(json)).toEqual(expected)
})

test('a header may be called __proto__', () => {
  expect(Object.keys(headersOf('{"__proto__": "x", "constructor": "y"}')!)).toEqual(['__proto__', 'constructor'])
})

const row = (changes: Partial<Record<'payload' | 'topic' | 'key' | 'aggregateId' | 'headers', string | null>>): Row => {
  const { payload = '{}', topic = null, key = null, aggregateId = 'a', headers = null } = changes
  return ['3', '9007199254740993', 'id', 'order', aggregateId, 'Placed', payload, headers, topic, key, '2026-12-01 00:30:02+00']
}

test('topic and key are the overrides of the row, else the type and the id of the aggregate; the empty key is a key', () => {
  expect(messageOf(row({}), 3, 9007199254740993n, 'text/plain')).toMatchObject({
    topic: 'order',
    key: 'a',
    seq: 9007199254740993n,
    lane: 3,
  })
  expect(messageOf(row({ topic: 't', key: '' }), 3, 1n, 'text/plain')).toMatchObject({ topic: 't', key: '', aggregateId: 'a' })
  expect(messageOf(row({ aggregateId: null }), 3, 1n, 'text/plain')).toMatchObject({ key: null })
})

test('a payload is its bytes: text in UTF-8, bytea from its hex form, NULL is none', () => {
  expect(messageOf(row({ payload: 'é🚀' }), 3, 1n, 'application/json').payload).toEqual(Buffer.from('é🚀'))
  expect(messageOf(row({ payload: '\\x00ff' }), 3, 1n, 'application/octet-stream').payload).toEqual(Buffer.from([0, 255]))
  expect(messageOf(row({ payload: '\\x' }), 3, 1n, 'application/octet-stream').payload).toEqual(Buffer.alloc(0))
  expect(messageOf(row({ payload: '' }), 3, 1n, 'text/plain').payload).toEqual(Buffer.alloc(0))
  expect(messageOf(row({ payload: null }), 3, 1n, 'text/plain').payload).toBe(null)
})

test.each([
  ['jsonb', 'application/json'],
  ['json', 'application/json'],
  ['text', 'text/plain'],
  ['bytea', 'application/octet-stream'],
])('a column of type %s holds %s', (type, expected) => {
  expect(contentTypeOf(type)).toBe(expected)
})
