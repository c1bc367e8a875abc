import { describe, expect, it } from 'vitest'
import { nearest } from '../../../src/core/nearest.ts'

describe('nearest', () => {
  const names = ['source', 'publisher', 'batchSize', 'maxInFlight', 'log']
  it.each([
    ['sorce', 'source'],
    ['pubisher', 'publisher'],
    ['batch_size', 'batchSize'],
    ['BATCHSIZE', 'batchSize'],
    ['lgo', 'log'],
    ['maxInFligth', 'maxInFlight'],
  ])('%s was meant to be %s', (typed, meant) => expect(nearest(typed, names)).toBe(meant))
  it.each(['', 'x', 'destination', 'retention'])('nothing is near %j', (typed) => expect(nearest(typed, names)).toBeUndefined())
})
