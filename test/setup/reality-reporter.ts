// Counts the cases that passed on real servers. A whole run in CI that has none on one of them proves nothing, so it fails.
import { writeFileSync } from 'node:fs'
import type { Reporter, TestModule } from 'vitest/node'

export interface RunCounts {
  passed: number
  failed: number
  skipped: number
  /** Passed cases by the kind of real server that their file used. */
  onPostgres: number
  onKafka: number
}

export default class RealityReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly unknown[]): void {
    const counts = count(modules, unhandled.length)
    process.stdout.write(`\n Real servers  ${counts.onPostgres} passed on PostgreSQL, ${counts.onKafka} passed on Kafka\n`)
    const { OUTRIDER_TEST_COUNTS: file, OUTRIDER_TEST_WHOLE: whole, CI } = process.env
    if (file !== undefined) writeFileSync(file, JSON.stringify(counts))
    const unproven = provenNothing(counts)
    if (whole === undefined || unproven.length === 0) return
    const complaint = `No case passed on the real ${unproven.join(' and ')}.`
    process.stderr.write(`\n!!! ${complaint}\n`)
    if (CI !== undefined) process.exitCode = 1
  }
}

export const provenNothing = (counts: RunCounts): string[] => [
  ...(counts.onPostgres === 0 ? ['PostgreSQL'] : []),
  ...(counts.onKafka === 0 ? ['Kafka'] : []),
]

export function count(modules: readonly TestModule[], unhandled: number): RunCounts {
  const counts: RunCounts = { passed: 0, failed: unhandled, skipped: 0, onPostgres: 0, onKafka: 0 }
  for (const module of modules) {
    // A file that can't be read, or a hook that throws, has no case that failed.
    if (module.state() === 'failed' && [...module.children.allTests('failed')].length === 0) counts.failed++
    for (const test of module.children.allTests()) {
      const { state } = test.result()
      if (state === 'pending') counts.skipped++
      else counts[state]++
      const servers = test.meta().servers ?? []
      if (state === 'passed' && servers.includes('postgres')) counts.onPostgres++
      if (state === 'passed' && servers.includes('kafka')) counts.onKafka++
    }
  }
  return counts
}
