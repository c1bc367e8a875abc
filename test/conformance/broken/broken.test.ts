// No case passes by accident: each has a plug that breaks its law, and fails it.
import { describe, expect, test } from 'vitest'
import type { ConformanceCase, Harness } from '../../../src/testing/conformance/case.ts'
import { selectCases } from '../../../src/testing/conformance/case.ts'
import { inboxCases } from '../../../src/testing/conformance/inbox-cases.ts'
import { publisherCases } from '../../../src/testing/conformance/publisher-cases.ts'
import { sourceCases } from '../../../src/testing/conformance/source-cases.ts'
import { brokenInboxes } from './inboxes.ts'
import { brokenPublishers } from './publishers.ts'
import { bigNumbers, brokenSources } from './sources.ts'

function eachFails<H extends Harness>(cases: readonly ConformanceCase<H>[], broken: Readonly<Record<string, H>>): void {
  test('each case has a plug that breaks its law', () => {
    expect(Object.keys(broken).toSorted()).toEqual(cases.map((one) => one.name).toSorted())
  })
  for (const one of cases) {
    const harness = broken[one.name]
    if (harness === undefined) continue
    test(one.name, async () => {
      expect(selectCases(cases, harness).run).toContain(one)
      await expect(one.run(harness)).rejects.toThrow()
    })
  }
}

describe('a broken source fails', () => eachFails(sourceCases, brokenSources))
describe('a broken publisher fails', () => eachFails(publisherCases, brokenPublishers))
describe('a broken inbox fails', () => eachFails(inboxCases, brokenInboxes))

test('the control of big numbers passes when it is exact', async () => {
  const one = sourceCases.find(({ name }) => name === 'is exact beyond 2^53')
  await one?.run(bigNumbers())
  expect(one).toBeDefined()
})

test('a capability that no case needs is refused, a missing one skips its cases with a reason', () => {
  const harness = { can: ['late'] } as unknown as Parameters<(typeof sourceCases)[number]['run']>[0]
  expect(() => selectCases(sourceCases, harness)).toThrow(expect.objectContaining({ code: 'USAGE' }))
  const { run, skipped } = selectCases(sourceCases, { ...bigNumbers(), can: [] })
  expect(run.length + skipped.length).toBe(sourceCases.length)
  expect(skipped.map(({ reason }) => reason)).toContain('needs lateCommits')
})
