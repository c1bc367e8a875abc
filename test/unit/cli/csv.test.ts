import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CsvError, csvRows, decodeCsv } from '../../../src/cli/fixtures/csv.ts'

const texts = (csv: string) => [...csvRows(csv)].map((row) => row.map((cell) => cell.text))
function errorOf(csv: string | Uint8Array): CsvError {
  try {
    texts(typeof csv === 'string' ? csv : decodeCsv(csv))
  } catch (error) {
    if (error instanceof CsvError) return error
    throw error
  }
  throw new Error('no error')
}

describe('csvRows', () => {
  it.each<[string, string, (string | null)[][]]>([
    [
      'plain cells',
      'a,b\nc,d',
      [
        ['a', 'b'],
        ['c', 'd'],
      ],
    ],
    ['a line end at the end begins no row', 'a,b\r\n', [['a', 'b']]],
    ['LF and CRLF together', 'a\r\nb\nc', [['a'], ['b'], ['c']]],
    ['quotes, commas and line ends in quotes', '"a ""b""","c,d","e\nf\r\ng"', [['a "b"', 'c,d', 'e\nf\r\ng']]],
    ['nothing is null, "" is empty text', ',"",\n', [[null, '', null]]],
    ['an empty line is one empty cell', 'a\n\nb', [['a'], [null], ['b']]],
    ['blanks are kept', ' a , b\t', [[' a ', ' b\t']]],
    ['quotes that are nothing but quotes', '"""","""""",""""""""', [['"', '""', '"""']]],
    ['a comma at the very end is one cell more', 'a,', [['a', null]]],
    ['no text, no row', '', []],
    ['other line ends of Unicode are text', 'a\u2028b\u0085c', [['a\u2028b\u0085c']]],
    ['emoji and Japanese', '注文,"🎉"', [['注文', '🎉']]],
  ])('%s', (_, csv, rows) => expect(texts(csv)).toEqual(rows))

  it('knows where each cell begins, past quoted line ends too', () => {
    const places = [...csvRows('a,"b\nc",d\r\n"e",f')].map((row) => row.map((c) => `${c.line}:${c.column}`))
    expect(places).toEqual([
      ['1:1', '1:3', '2:4'],
      ['3:1', '3:5'],
    ])
  })

  it.each<[string, string, string]>([
    ['a,b"c', '1:4', 'a quote inside a value without quotes'],
    ['a\n"b"c,d', '2:4', '"c" after a closing quote'],
    ['"a" ,b', '1:4', '" " after a closing quote'],
    ['a,\n"b\nc', '2:1', 'a quote that is never closed'],
    ['a\rb', '1:2', 'a carriage return without a line feed'],
    ['"a\nb"x', '2:3', '"x" after a closing quote'],
  ])('%j is refused at %s', (csv, place, got) => {
    const error = errorOf(csv)
    expect([`${error.line}:${error.column}`, error.message]).toEqual([place, got])
  })

  it('gives back what was written, whatever the values', () => {
    const cell = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('"', '\r', '\n', ',', '', '"\r\n"'))
    fc.assert(
      fc.property(
        fc.array(fc.array(cell, { minLength: 1, maxLength: 4 }), { minLength: 1 }),
        fc.constantFrom('\n', '\r\n'),
        (rows, end) => {
          const csv = rows.map((row) => row.map((text) => `"${text.replaceAll('"', '""')}"`).join(',')).join(end)
          expect(texts(csv)).toEqual(rows)
        },
      ),
    )
  })
})

describe('decodeCsv', () => {
  it('drops a byte order mark', () => expect(decodeCsv(Buffer.from('\uFEFFa'))).toBe('a'))
  it('refuses a file that no text can hold', () =>
    expect(() => decodeCsv(Buffer.alloc(3_000_000, 'a'), 2_000_000)).toThrow('a file of 3 MB'))
  it.each([
    [[0x61, 0x0a, 0x62, 0xff, 0x63], '2:2', 'bytes that are no UTF-8'],
    [[0x61, 0xc3], '1:2', 'bytes that are no UTF-8'],
    [[0xff, 0xfe, 0x61, 0x00], '1:1', 'UTF-16'],
  ])('refuses %j with its place', (bytes, place, got) => {
    const error = errorOf(Uint8Array.from(bytes))
    expect([`${error.line}:${error.column}`, error.message]).toEqual([place, got])
  })
})
