import { describe, expect, test } from 'vitest'
import { selectCases } from '../../src/testing/conformance/case.ts'
import { sourceCases } from '../../src/testing/conformance/source-cases.ts'
import { memorySource } from './memory-harness.ts'

describe('the memory source', () => {
  const { run, skipped } = selectCases(sourceCases, memorySource())
  test.each(run)('$name', (one) => one.run(memorySource()))
  test('runs every case but those for numbers beyond 2^53', () => {
    expect(skipped.map((one) => one.reason)).toEqual(['needs bigNumbers'])
  })
})
