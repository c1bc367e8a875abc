import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { convertCsv } from '../../../src/cli/fixtures/convert.ts'
import { runCommandLine } from '../../../src/cli/run.ts'
import { recordingIo } from './recording-io.ts'

const root = join(import.meta.dirname, '../../..')
const url = (path: string) => pathToFileURL(join(root, path)).href
let cwd: string
beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), 'outrider-convert-'))
  writeFileSync(
    join(cwd, 'events.ts'),
    `import { z } from '${url('node_modules/zod/index.js')}'
    const event = (schema: unknown) => ({ schema, aggregate: 'order', key: null })
    export const events = {
      OrderPlaced: event(z.object({
        orderId: z.string(), total: z.number().positive(), express: z.boolean().optional(), coupon: z.string().nullable(),
        tags: z.array(z.string()).default([]), placedAt: z.coerce.date(),
        address: z.object({ city: z.string(), zip: z.string().optional() }).optional(),
        meta: z.record(z.string(), z.number()).optional(),
      })),
      Typed: { schema: null, aggregate: 'order', key: null },
      Either: event(z.discriminatedUnion('kind', [z.object({ kind: z.literal('a'), n: z.number() }), z.object({ kind: z.literal('b'), s: z.string() })])),
    }
    export const limit = 5`,
  )
  mkdirSync(join(cwd, 'node_modules'))
  symlinkSync(join(root, 'node_modules/zod'), join(cwd, 'node_modules/zod'))
  writeFileSync(
    join(cwd, 'older.ts'),
    `import { z } from 'zod'
    const schema = z.object({ n: z.number() })
    const { validate, vendor, version } = schema['~standard']
    const as = (own: object) => ({ schema: Object.create(schema, { '~standard': { value: { validate, vendor, version } }, toJSONSchema: { value: undefined }, ...own }), aggregate: 'order', key: null })
    export const events = { Project: as({}), Method: as({ toJSONSchema: { value: () => ({ type: 'object', properties: { n: { type: 'number' } } }) } }) }`,
  )
  writeFileSync(
    join(cwd, 'valibot.ts'),
    `import * as v from '${url('node_modules/valibot/dist/index.mjs')}'
    export default { Paid: { schema: v.object({ id: v.string(), n: v.optional(v.string()) }), aggregate: 'order', key: null } }`,
  )
})
afterAll(() => rmSync(cwd, { recursive: true }))

async function convert(csv: string | Uint8Array, flags = '') {
  const io = recordingIo({ cwd, files: { 'f.csv': csv } })
  const code = await runCommandLine(['fixtures', 'convert', 'f.csv', ...flags.split(' ').filter(Boolean)], io)
  return { code, stdout: io.stdout(), stderr: io.stderr() }
}
async function rows(csv: string | Uint8Array, flags = ''): Promise<unknown> {
  const { code, stdout, stderr } = await convert(csv, flags)
  if (code !== 0) throw new Error(stderr)
  return JSON.parse(stdout)
}
async function problems(csv: string, flags = ''): Promise<string[]> {
  const { code, stdout, stderr } = await convert(csv, flags)
  expect([code, stdout]).toEqual([1, ''])
  return stderr
    .split('\n')
    .slice(1, -1)
    .map((line) => line.trim())
}
const placed = '--events events.ts --event OrderPlaced'

describe('fixtures convert, without a schema', () => {
  it('keeps all as text, tells nothing from empty text, nests dotted names', async () => {
    expect(await rows('\uFEFFid,address.city,address.geo.lat,note\r\n007,"Zü,rich",1.10,\r\nx,"a\nb",true,""\r\n')).toEqual([
      { id: '007', address: { city: 'Zü,rich', geo: { lat: '1.10' } }, note: null },
      { id: 'x', address: { city: 'a\nb', geo: { lat: 'true' } }, note: '' },
    ])
  })

  it('prints one row a line, and an empty list for a header alone', async () => {
    expect((await convert('a\n1\n2\n')).stdout).toBe('[\n{"a":"1"},\n{"a":"2"}\n]\n')
    expect((await convert('a\n')).stdout).toBe('[]\n')
  })

  it('comes out whole and in order where it is more than one piece', async () => {
    const count = 60_000
    const csv = `n,text\n${Array.from({ length: count }, (_, i) => `${i},"line\n${i}"\n`).join('')}`
    const pieces = await convertCsv(Buffer.from(csv), 'f.csv', null)
    expect(pieces.length).toBeGreaterThan(1)
    const found = JSON.parse(Buffer.concat(pieces).toString()) as { n: string; text: string }[]
    expect(found.length).toBe(count)
    expect(found.every((row, i) => row.n === String(i) && row.text === `line\n${i}`)).toBe(true)
  })

  it('keeps names that objects have by nature', async () => {
    expect(await rows('constructor,toString.x\n1,2\n')).toEqual([{ constructor: '1', toString: { x: '2' } }])
  })

  it.each<[string, string, string[]]>([
    ['an empty file', '', ['f.csv:1:1: got an empty file, expected names of columns in the first line']],
    ['a column twice', 'a,b,a\n', ['f.csv:1:5: got the column "a" twice, expected it once (it is column 1 already)']],
    ['a value and what is in it', 'a,a.b\n', ['f.csv:1:3: got "a.b" beside "a", expected either a value or what is in it, not both']],
    ['what is in it and a value', 'a.b,a\n', ['f.csv:1:5: got "a" beside "a.b", expected either a value or what is in it, not both']],
    ['a column without a name', 'a,\n', ['f.csv:1:3: got a column without a name, expected a name, with a dot only between two names']],
    [
      'a dot at an end',
      'a.,.b,c..d\n',
      ['f.csv:1:1', 'f.csv:1:4', 'f.csv:1:7'].map(
        (at, i) => `${at}: got the name "${['a.', '.b', 'c..d'][i]}", expected a name, with a dot only between two names`,
      ),
    ],
    ['blanks around a name', 'a, b\n', ['f.csv:1:3: got the name " b" with blanks around it, expected the bare name']],
    ['__proto__', 'a.__proto__\n', ['f.csv:1:1: got the name "a.__proto__", expected another name']],
    [
      'a short and a long row',
      'a,b\n1\n1,2,3\n',
      ['f.csv:2:1: got 1 value, expected 2 values', 'f.csv:3:5: got 3 values, expected 2 values'],
    ],
    ['an empty line', 'a,b\n1,2\n\n', ['f.csv:3:1: got an empty line, expected 2 values']],
    [
      'a row before a broken quote',
      'a,b\n1\n"x',
      ['f.csv:2:1: got 1 value, expected 2 values', 'f.csv:3:1: got a quote that is never closed, expected a closing quote'],
    ],
  ])('refuses %s, with its place and nothing on standard output', async (_, csv, expected) => expect(await problems(csv)).toEqual(expected))

  it('lists twenty problems and counts the others', async () => {
    const found = await problems(`a,b\n${'1\n'.repeat(50)}`)
    expect(found).toHaveLength(21)
    expect(found.at(-1)).toBe('f.csv: got 30 problems more, expected none')
  })

  it('puts errors of --json on standard error, as one JSON line', async () => {
    const { stdout, stderr } = await convert('a,b\n1\n', '--json')
    expect(stdout).toBe('')
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'FIXTURE_INVALID', problems: [{ line: 2, column: 1 }] } })
  })

  it('a file that is not there is a usage error', async () => {
    const io = recordingIo({ cwd })
    expect(await runCommandLine(['fixtures', 'convert', 'none.csv'], io)).toBe(2)
    expect(io.stderr()).toMatch(/FILE.csv: got ENOENT/)
  })
})

describe('fixtures convert, with the schema of an event', () => {
  it('gives numbers, booleans, lists, nulls and left-out values as the schema says', async () => {
    const csv =
      'orderId,total,express,coupon,tags,placedAt,address.city,address.zip,meta.weight\n007,1.50,true,,"[""a""]",2026-01-02,Rome,,3\n8,2,,"",,2026-01-02T03:04:05Z,,,\n'
    expect(await rows(csv, placed)).toEqual([
      {
        orderId: '007',
        total: 1.5,
        express: true,
        coupon: null,
        tags: ['a'],
        placedAt: '2026-01-02',
        address: { city: 'Rome' },
        meta: { weight: 3 },
      },
      { orderId: '8', total: 2, coupon: '', placedAt: '2026-01-02T03:04:05Z' },
    ])
  })

  it('tells wrong types, empty values and what the schema itself refuses, each at its cell', async () => {
    const csv = 'orderId,total,coupon,placedAt,address.city,address.zip\n,x,a,2026-01-02,,\n1,-5,a,2026-01-02,,\n1,5,a,soon,,9\n'
    expect(await problems(csv, placed)).toEqual([
      'f.csv:2:1 orderId: got nothing, expected a text (an empty text is written "")',
      'f.csv:2:2 total: got "x", expected a number that JSON keeps exactly',
      'f.csv:3:3 total: got "-5", expected what the schema says: Too small: expected number to be >0',
      'f.csv:4:12 address.city: got nothing, expected a text (an empty text is written "")',
    ])
    expect((await problems('orderId,total,coupon,placedAt\n1,5,a,soon\n', placed))[0]).toMatch(
      /^f.csv:2:7 placedAt: got "soon", expected what the schema says: Invalid/,
    )
  })

  it('refuses columns that the schema does not know, and misses those that it requires', async () => {
    expect(await problems('orderid,total,address.town\n', placed)).toEqual([
      'f.csv:1:1: got the column "orderid", expected one of orderId, total, express, coupon, tags, placedAt, address, meta (did you mean orderId?)',
      'f.csv:1:15: got the column "address.town", expected one of address.city, address.zip',
    ])
    expect(await problems('orderId,total,coupon,address.zip\n', placed)).toEqual([
      'f.csv:1:1: got no column "placedAt", expected one: the schema requires it',
      'f.csv:1:1: got no column "address.city", expected one: the schema requires it',
    ])
  })

  it('follows unions by the columns that are there', async () => {
    expect(await rows('kind,n,s\na,1,\nb,,x\n', '--events events.ts --event Either')).toEqual([
      { kind: 'a', n: 1 },
      { kind: 'b', s: 'x' },
    ])
  })

  it('asks an older zod by its own method, or by the zod of the project', async () => {
    expect(await rows('n\n1\n', '--events older.ts --event Method')).toEqual([{ n: 1 }])
    expect(await rows('n\n1\n', '--events older.ts --event Project')).toEqual([{ n: 1 }])
  })

  it('keeps all as text for an event without a schema, and for a library that tells no types', async () => {
    expect(await rows('n\n1\n', '--events events.ts --event Typed')).toEqual([{ n: '1' }])
    expect(await rows('id,n\n1,2\n', '--events valibot.ts --event Paid')).toEqual([{ id: '1', n: '2' }])
    expect(await problems('n\n1\n', '--events valibot.ts --event Paid')).toEqual([
      expect.stringMatching(/^f.csv:2:1 id: got this row, expected what the schema says: /),
    ])
  })

  it.each([
    [
      '--events events.ts --event OrderPlacd',
      /--event: got "OrderPlacd", expected one of OrderPlaced, Typed, Either \(did you mean OrderPlaced\?\)/,
    ],
    ['--events none.ts --event X', /--events: got/],
  ])('%s is a usage error', async (flags, text) => {
    const { code, stderr, stdout } = await convert('a\n', flags)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(text)
  })
})
