import { expect, test } from 'vitest'
import { arrayLiteral, toHex } from '../../../src/write/array-literal.ts'

test('quotes and backslashes are escaped, and NULL is told from its text', () => {
  expect(arrayLiteral([])).toBe('{}')
  expect(arrayLiteral(['', null, 'NULL', 'a,b', '{"x":"\\u0000"}', '\n'])).toBe(
    String.raw`{"",NULL,"NULL","a,b","{\"x\":\"\\u0000\"}","` + '\n"}',
  )
})

test('bytes are two digits each', () => {
  expect(toHex(new Uint8Array([0, 15, 255]))).toBe('000fff')
})
