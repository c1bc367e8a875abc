import { expect, test } from 'vitest'
import * as v from 'valibot'
import { z } from 'zod'
import { defineEvents, event } from '../../../src/write/index.ts'

const key = null

test('events of any Standard Schema and of a type alone stand side by side', () => {
  const events = defineEvents({
    A: event({ schema: z.object({ id: z.string() }), aggregate: 'order', key: (e) => e.id }),
    B: event({ schema: v.object({ id: v.string() }), aggregate: 'order', key: (e) => e.id, topic: 'orders', version: 2 }),
    C: event<{ id: string }>({ aggregate: 'order', key: (e) => e.id }),
  })
  expect(Object.keys(events)).toEqual(['A', 'B', 'C'])
  expect(events.B).toMatchObject({ aggregate: 'order', topic: 'orders', version: 2, upcast: null })
  expect(Object.isFrozen(events)).toBe(true)
})

test.each([
  ['no aggregate', { aggregate: '', key }],
  ['a key that is a name', { aggregate: 'a', key: 'id' }],
  ['an empty topic', { aggregate: 'a', key, topic: '' }],
  ['a version below 1', { aggregate: 'a', key, version: 0 }],
  ['a version that is no number', { aggregate: 'a', key, version: '2' }],
  ['a schema of no standard', { aggregate: 'a', key, schema: {} }],
  ['a header that Outrider sets', { aggregate: 'a', key, headers: { eventId: 'x' } }],
  ['a header that is no text', { aggregate: 'a', key, headers: { n: 1 } }],
])('%s is refused when the event is defined', (_, options) => {
  expect(() => event(options as never)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
})

test('an event must have a name, and not the one of unknown events', () => {
  const any = event<object>({ aggregate: 'a', key })
  expect(() => defineEvents({ unknown: any } as never)).toThrow('unknown')
  expect(() => defineEvents({ '': any })).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
})
