import { expect, test } from 'vitest'
import { createIds, newId } from '../../../src/write/ids.ts'

const shape = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

test('an id is a UUID of version 7 with the time in front', () => {
  const id = createIds({ nowMs: () => 0x0123456789ab, fill: (bytes) => bytes.fill(0xff) })()
  expect(id).toMatch(shape)
  expect(id).toBe('01234567-89ab-77ff-bfff-ffffffffffff')
  expect(newId()).toMatch(shape)
})

test('each id is greater than the one before, also when the clock stands still or goes back', () => {
  let nowMs = 1_800_000_000_000
  const next = createIds({ nowMs: () => nowMs, fill: (bytes) => void crypto.getRandomValues(bytes) })
  let last = ''
  for (let i = 0; i < 30_000; i++) {
    if (i === 10_000) nowMs -= 3_600_000
    const id = next()
    if (id <= last) throw new Error(`${id} after ${last}`)
    expect(id).toMatch(shape)
    last = id
  }
})

test('a hundred thousand ids are different', () => {
  expect(new Set(Array.from({ length: 100_000 }, newId)).size).toBe(100_000)
})
