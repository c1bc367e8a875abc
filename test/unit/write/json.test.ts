import { assert, jsonValue, property } from 'fast-check'
import { expect, test } from 'vitest'
import { toJson } from '../../../src/write/json.ts'

function refusal(value: unknown): string {
  try {
    toJson(value, 'T')
  } catch (error) {
    expect(error).toMatchObject({ code: 'PAYLOAD_NOT_STORABLE' })
    return (error as Error).message
  }
  throw new Error('it was taken')
}

test('the text is the one of JSON.stringify for everything that JSON can say', () => {
  assert(
    property(jsonValue({ maxDepth: 6 }), (value) => {
      const expected = JSON.stringify(value)
      if (!expected.includes('\\u0000')) expect(toJson(value, 'T')).toBe(expected)
    }),
  )
  const awkward = {
    2: 'b',
    1: 'a',
    'a\\u0000b': '\\u0000',
    lines: ['\u2028', '😀', '"\\\n\u0001\u007f'],
    big: 2 ** 60,
    small: 1e-30,
    e: 1e21,
  }
  expect(toJson(awkward, 'T')).toBe(JSON.stringify(awkward))
  const date = new Date(0)
  expect(toJson({ date, gone: undefined, zero: -0, url: new URL('https://a.b') }, 'T')).toBe(
    '{"date":"1970-01-01T00:00:00.000Z","zero":0,"url":"https://a.b/"}',
  )
})

test('toJSON gets the name that JSON.stringify gives it', () => {
  const named = { toJSON: (key: string) => `<${key}>` }
  const value = { a: named, list: [named] }
  expect(toJson(value, 'T')).toBe(JSON.stringify(value))
})

test.each([
  ['NUL in a text', { a: [{ note: 'A\u0000B' }] }, 'payload.a[0].note holds the character U+0000 at index 1'],
  ['NUL in a name', { 'x\u0000': 1 }, 'payload["x\\u0000"] has a name with the character U+0000 at index 1'],
  ['half a surrogate pair', { s: 'ok \ud800' }, 'payload.s holds half a surrogate pair (U+D800) at index 3'],
  ['a low half alone', '\udc00', 'payload holds half a surrogate pair (U+DC00)'],
  ['a BigInt', { id: 7088992364139642881n }, 'payload.id is the BigInt 7088992364139642881n'],
  ['NaN', { list: [1, Number.NaN] }, 'payload.list[1] is NaN'],
  ['Infinity', -Infinity, 'payload is -Infinity'],
  ['undefined in a list', { list: [undefined] }, 'payload.list[0] is undefined'],
  ['a hole in a list', { list: Array(1) }, 'payload.list[0] is undefined'],
  ['undefined itself', undefined, 'payload is undefined'],
  ['a function', { 'do it': () => {} }, 'payload["do it"] is a function'],
  ['a symbol', { s: Symbol('x') }, 'payload.s is a symbol'],
  ['an invalid Date', { at: new Date(Number.NaN) }, 'payload.at is an invalid Date'],
  ['a Map', { m: new Map([[1, 2]]) }, 'payload.m is Map'],
  ['a Set', { s: new Set([1]) }, 'payload.s is Set'],
  ['bytes', { b: new Uint8Array(2) }, 'payload.b is Uint8Array'],
  ['an Error', { e: new Error('x') }, 'payload.e is Error'],
  ['a Promise', { p: Promise.resolve(1) }, 'payload.p is Promise'],
  ['a boxed number', { n: Object(1) }, 'payload.n is Number'],
])('%s is refused with its path', (_, value, message) => {
  expect(refusal(value)).toContain(message)
})

test('a cycle is refused with its path, the same object twice is not', () => {
  const loop: Record<string, unknown> = { name: 'x' }
  loop['child'] = { parent: [loop] }
  expect(refusal(loop)).toContain('payload.child.parent[0] is a cycle')
  const twice = { a: 1 }
  expect(toJson([twice, twice], 'T')).toBe('[{"a":1},{"a":1}]')
})

function nested(levels: number): unknown {
  let value: unknown = 1
  for (let i = 0; i < levels; i++) value = [value]
  return value
}

test('nesting ends at 1000 levels', () => {
  expect(toJson(nested(1000), 'T')).toHaveLength(2001)
  expect(refusal(nested(1001))).toContain('is nested deeper than 1000 levels')
})

test('a getter that throws is told with its path, and what was checked is what is written', () => {
  expect(
    refusal({
      a: {
        get b(): never {
          throw new Error('no')
        },
      },
    }),
  ).toContain('payload.a.b could not be read: no')
  let looks = 0
  const shifty = {
    get text(): string {
      looks += 1
      return looks === 1 ? 'fine' : '\u0000'
    },
  }
  expect(toJson(shifty, 'T')).toBe('{"text":"fine"}')
})
