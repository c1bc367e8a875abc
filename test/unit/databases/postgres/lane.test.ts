import { expect, test } from 'vitest'
import { laneOf } from '../../../../src/databases/postgres/lane.ts'
import { laneValues } from './lane-values.ts'

test('a lane is what PostgreSQL computes, for every length and script', () => {
  for (const [text, hash] of laneValues) {
    for (const lanes of [1, 2, 7, 8, 1024]) expect(laneOf(text, lanes), JSON.stringify(text)).toBe(hash % lanes)
  }
})

test('keys spread evenly over the lanes', () => {
  const counts = Array.from({ length: 8 }, () => 0)
  for (let i = 0; i < 8000; i++) counts[laneOf(`order-${i}`, 8)]! += 1
  expect(Math.min(...counts)).toBeGreaterThan(850)
})
