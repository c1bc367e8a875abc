import { describe, expect, it } from 'vitest'
import { cellValue, exactNumber } from '../../../src/cli/fixtures/cell-value.ts'
import { placeBelow, rootPlace, type SchemaNode } from '../../../src/cli/fixtures/shape.ts'

function value(text: string | null, schema: SchemaNode, required = true): unknown {
  const root = { type: 'object', properties: { x: schema }, required: required ? ['x'] : [] }
  const place = placeBelow(rootPlace(root), 'x', root)
  if (place === undefined) throw new Error('no such place')
  const result = cellValue(text, place)
  return 'value' in result ? result.value : 'omit' in result ? 'left out' : `problem: ${result.got}`
}

describe('cellValue', () => {
  it('keeps everything as text without a schema', () => {
    for (const text of ['007', 'true', '{}', '', null]) expect(cellValue(text, null)).toEqual({ value: text })
  })

  it.each<[string, SchemaNode, unknown]>([
    ['007', { type: 'string' }, '007'],
    ['7', { type: 'integer' }, 7],
    ['1.10', { type: 'number' }, 1.1],
    ['true', { type: 'boolean' }, true],
    ['["a",1]', { type: 'array' }, ['a', 1]],
    ['{"a":null}', { type: 'object' }, { a: null }],
    ['5', { anyOf: [{ type: 'string' }, { type: 'number' }] }, '5'],
    ['5', { type: ['number', 'null'] }, 5],
    ['5', { enum: [1, 5] }, 5],
    ['5', { const: '5' }, '5'],
    ['5', {}, '5'],
    ['', { type: 'string' }, ''],
  ])('%j under %j is %j', (text, schema, expected) => expect(value(text, schema)).toEqual(expected))

  it.each<[string, SchemaNode, string]>([
    ['007', { type: 'number' }, 'problem: "007"'],
    ['1,5', { type: 'number' }, 'problem: "1,5"'],
    ['', { type: 'number' }, 'problem: ""'],
    [' 7', { type: 'number' }, 'problem: " 7"'],
    ['NaN', { type: 'number' }, 'problem: "NaN"'],
    ['9007199254740993', { type: 'integer' }, 'problem: "9007199254740993", which a number would round'],
    ['0.1234567890123456789', { type: 'number' }, 'problem: "0.1234567890123456789", which a number would round'],
    ['1e999', { type: 'number' }, 'problem: "1e999", which a number would round'],
    ['TRUE', { type: 'boolean' }, 'problem: "TRUE"'],
    ['1', { type: 'boolean' }, 'problem: "1"'],
    ['{}', { type: 'array' }, 'problem: "{}"'],
    ['[9007199254740993]', { type: 'array' }, 'problem: "[9007199254740993]"'],
  ])('%j is refused under %j', (text, schema, expected) => expect(value(text, schema)).toBe(expected))

  it.each<[SchemaNode, boolean, unknown]>([
    [{ type: ['string', 'null'] }, true, null],
    [{ anyOf: [{ type: 'number' }, { type: 'null' }] }, false, null],
    [{ type: 'number' }, false, 'left out'],
    [{}, false, 'left out'],
    [{}, true, null],
    [{ type: 'string' }, true, 'problem: nothing'],
    [{ type: 'number' }, true, 'problem: nothing'],
  ])('nothing under %j, required %s, is %j', (schema, required, expected) => expect(value(null, schema, required)).toBe(expected))
})

describe('exactNumber', () => {
  it.each([
    ['0', 0],
    ['-0', -0],
    ['0.10', 0.1],
    ['100', 100],
    ['1e3', 1000],
    ['1.5E-7', 1.5e-7],
    ['9007199254740992', 2 ** 53],
    ['123456789012345680000', 123456789012345680000],
  ])('%s', (text, number) => expect(exactNumber(text)).toBe(number))
  it.each(['9007199254740993', '1e400', '1e-400', '.5', '5.', '+5', '0x1', '١'])('%s is none', (text) =>
    expect(exactNumber(text)).toBeUndefined(),
  )
})

describe('placeBelow', () => {
  const root: SchemaNode = {
    type: 'object',
    properties: {
      a: { $ref: '#/$defs/node' },
      b: {
        allOf: [
          { type: 'object', properties: { x: { type: 'number' } } },
          { properties: { y: { type: 'string' } }, required: ['y'] },
        ],
      },
    },
    $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' }, n: { type: 'integer' } } } },
  }
  const at = (...names: string[]) =>
    names.reduce((place, name) => place && placeBelow(place, name, root), rootPlace(root) as ReturnType<typeof placeBelow>)
  it('follows references, also to themselves', () => expect(at('a', 'next', 'next', 'n')?.kinds).toEqual(new Set(['number'])))
  it('looks into all parts of allOf', () => expect([at('b', 'x')?.required, at('b', 'y')?.required]).toEqual([false, true]))
  it('knows what is not there', () => expect([at('c'), at('a', 'm')]).toEqual([undefined, undefined]))
  it('takes any name where the schema does', () => {
    const open = { type: 'object', additionalProperties: { type: 'number' } }
    expect(placeBelow(rootPlace(open), 'any', open)?.kinds).toEqual(new Set(['number']))
  })
})
