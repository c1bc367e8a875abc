import { expect, test } from 'vitest'
import type { TestModule } from 'vitest/node'
import { count, provenNothing } from '../../setup/reality-reporter.ts'

const moduleOf = (state: string, tests: { state: string; servers?: string[] }[]): TestModule => {
  const all = tests.map((one) => ({ result: () => ({ state: one.state }), meta: () => ({ servers: one.servers }) }))
  const allTests = (wanted?: string): unknown[] => (wanted === undefined ? all : all.filter((one) => one.result().state === wanted))
  return { state: () => state, children: { allTests } } as unknown as TestModule
}

test('only cases that passed count as proof on a real server', () => {
  const counts = count(
    [
      moduleOf('failed', [
        { state: 'passed', servers: ['postgres'] },
        { state: 'passed' },
        { state: 'failed', servers: ['kafka'] },
        { state: 'skipped', servers: ['kafka'] },
      ]),
    ],
    0,
  )
  expect(counts).toEqual({ passed: 2, failed: 1, skipped: 1, onPostgres: 1, onKafka: 0 })
  expect(provenNothing(counts)).toEqual(['Kafka'])
  expect(provenNothing({ ...counts, onKafka: 1 })).toEqual([])
})

test('a file that could not run, and an error outside every case, count as failed', () => {
  expect(count([moduleOf('failed', [])], 2).failed).toBe(3)
  expect(count([moduleOf('failed', [{ state: 'failed' }])], 0).failed).toBe(1)
})
