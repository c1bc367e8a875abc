import { expect, test } from 'vitest'
import { checkRawJson } from '../../../src/write/raw-json.ts'

test('text that is JSON is taken as it is', () => {
  const text = '{"id":7088992364139642881,"amt":12345678901234567890.123456789,"e":1e400,"neg0":-0.0,"small":1e-30,"s":"\\\\u0000"}'
  expect(checkRawJson(text, 'T', 'jsonb')).toMatchObject({ small: 1e-30, s: '\\u0000' })
  expect(checkRawJson('"\\ud83d\\ude00 1e99999"', 'T', 'jsonb')).toBe('😀 1e99999')
  expect(checkRawJson(JSON.stringify('\\u0000 \\\\'), 'T', 'jsonb')).toBe('\\u0000 \\\\')
})

test('text that is not JSON is refused', () => {
  for (const text of ['', '{', '{"a":1,}', "{'a':1}", 'NaN', '\ufeff{}']) {
    expect(() => checkRawJson(text, 'T', 'jsonb'), text).toThrow(expect.objectContaining({ code: 'PAYLOAD_INVALID' }))
  }
})

test.each([
  '"\\u0000"',
  '"a\\\\\\u0000"',
  '"\\ud800"',
  '"\\ud800x"',
  '"\\udc00"',
  '"\\ud800\\ud800\\udc00"',
  '"\\ud83d\\n\\ude00"',
  '1e20000',
  '1e-20000',
  '9'.repeat(17_000),
])('jsonb would refuse %s, so it is refused before; json takes it', (text) => {
  expect(() => checkRawJson(text, 'T', 'jsonb')).toThrow(expect.objectContaining({ code: 'PAYLOAD_NOT_STORABLE' }))
  checkRawJson(text, 'T', 'json')
})

test('no column stores half a surrogate pair as it is', () => {
  expect(() => checkRawJson('"\ud800"', 'T', 'json')).toThrow(expect.objectContaining({ code: 'PAYLOAD_NOT_STORABLE' }))
})

function nested(levels: number): string {
  return '[{"a":'.repeat(levels / 2) + '1' + '}]'.repeat(levels / 2)
}

test('what PostgreSQL parses is nested 1000 levels at most, brackets in texts not counted', () => {
  checkRawJson(nested(1000), 'T', 'json')
  checkRawJson(JSON.stringify('[{'.repeat(5000)), 'T', 'jsonb')
  for (const column of ['jsonb', 'json'] as const) expect(() => checkRawJson(nested(1002), 'T', column)).toThrow('deeper than 1000')
  checkRawJson(nested(1002), 'T', 'bytea')
})

test('a long text with long runs of digits and escapes is checked fast', () => {
  const text = JSON.stringify({ digits: '7'.repeat(400_000), escapes: '\\"'.repeat(100_000) })
  const before = performance.now()
  checkRawJson(text, 'T', 'jsonb')
  expect(performance.now() - before).toBeLessThan(1000)
})
