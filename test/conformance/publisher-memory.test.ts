import { describe, expect, test } from 'vitest'
import { selectCases } from '../../src/testing/conformance/case.ts'
import { publisherCases } from '../../src/testing/conformance/publisher-cases.ts'
import { memoryPublisher } from './memory-harness.ts'

describe('the memory broker', () => {
  const { run, skipped } = selectCases(publisherCases, memoryPublisher())
  test.each(run)('$name', (one) => one.run(memoryPublisher()))
  test('runs every case', () => expect(skipped).toEqual([]))
})
