import { assert, asyncProperty, boolean, constantFrom, integer, record } from 'fast-check'
import { expect, test } from 'vitest'
import { createRelay } from '../../../src/relay/index.ts'
import { simulate } from './simulation.ts'

const scenario = record({
  seed: integer(),
  messages: integer({ min: 1, max: 60 }),
  keys: integer({ min: 1, max: 6 }),
  steps: integer({ min: 20, max: 120 }),
  order: constantFrom('batch' as const, 'single' as const),
  fence: boolean(),
  batchSize: integer({ min: 1, max: 20 }),
})

test('whatever is refused, lost or slow: all is delivered at least once, first occurrences of a key in order, and nothing is settled that was not accepted', async () => {
  await assert(
    asyncProperty(scenario, async (one) => {
      expect(await simulate(createRelay, one)).toEqual([])
    }),
    { numRuns: 150, seed: 20261201 },
  )
}, 60_000)
