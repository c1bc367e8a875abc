import { createRecordsBatch, NumericMap } from '@platformatic/kafka'
import type { MessageRecord } from '@platformatic/kafka'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BATCH_OVERHEAD, recordOf, sizeInBatch } from '../../../../src/brokers/kafka/record.ts'
import type { Message } from '../../../../src/core/index.ts'
import { messageOf } from '../../../conformance/kafka-topic.ts'

const encodedSize = (messages: readonly Message[]): number => {
  const records = messages.map((message) => recordOf(message, 't', 0, 1_796_000_000_000n)) as unknown as MessageRecord[]
  const sequences = new NumericMap()
  return createRecordsBatch(records, { producerId: 1n, producerEpoch: 0, sequences, compression: 'none' }).length
}

const computedSize = (messages: readonly Message[]): number =>
  messages.reduce((sum, message, place) => sum + sizeInBatch(recordOf(message, 't', 0, 1n).body, place), BATCH_OVERHEAD)

const sizes = fc.oneof(fc.integer({ min: 0, max: 300 }), fc.constantFrom(63, 64, 8_191, 8_192, 1_048_575, 1_048_576))
const anyMessage = fc.record({
  key: fc.option(
    fc.oneof(
      fc.string({ unit: 'binary' }),
      sizes.map((size) => 'k'.repeat(size)),
    ),
  ),
  payload: fc.option(sizes.map((size) => Buffer.alloc(size))),
  headers: fc.option(fc.dictionary(fc.string({ unit: 'grapheme', maxLength: 80 }), fc.string({ unit: 'grapheme', maxLength: 200 }))),
  type: fc.string({ maxLength: 100 }),
  aggregateType: fc.string({ maxLength: 100 }),
})

describe('the size of a record', () => {
  test('is the one that the encoder makes, to the byte, for any message', () => {
    fc.assert(
      fc.property(fc.array(anyMessage, { minLength: 1, maxLength: 4 }), (facts) => {
        const messages = facts.map((one) => messageOf({ topic: 't', ...one }))
        expect(computedSize(messages)).toBe(encodedSize(messages))
      }),
      { numRuns: 200 },
    )
  })

  test.each([63, 64, 65, 8_191, 8_192, 8_193])('counts the place in a batch of %i', (count) => {
    const messages = Array.from({ length: count }, (_, i) => messageOf({ topic: 't', seq: BigInt(i + 1) }))
    expect(computedSize(messages)).toBe(encodedSize(messages))
  })
})
