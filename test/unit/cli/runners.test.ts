import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runBench } from '../../../bench/runner/run.ts'
import { recordingIo } from './recording-io.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'outrider-bench-'))
  const file = (name: string, run: string) =>
    writeFileSync(
      join(folder, `${name}.ts`),
      `export const bench = { summary: 'measures ${name}', run: async (context: { progress(t: string): void }) => ${run} }`,
    )
  file(
    'line',
    `{ context.progress('half'); return { figures: { events_per_s: 81234.5 }, ratios: { vs_bare: 0.91 }, setting: { events: 10 }, missed: ['too slow'] } }`,
  )
  file('broken', `({ figures: { events_per_s: NaN }, ratios: {} })`)
  file('main', `{ throw new Error('never run') }`)
})
afterAll(() => rmSync(folder, { recursive: true }))

async function bench(...words: string[]) {
  const io = recordingIo()
  const code = await runBench(words, io, folder)
  return { code, stdout: io.stdout(), stderr: io.stderr() }
}

describe('npm run bench', () => {
  it('lists the benchmarks with what they measure', async () => {
    const { code, stdout } = await bench()
    expect(code).toBe(0)
    expect(stdout).toMatch(/broken {2}measures broken\n {2}line {2}measures line/)
    expect(stdout).not.toContain('main')
    expect(JSON.parse((await bench('--json')).stdout)).toEqual({
      benches: [
        { name: 'broken', summary: 'measures broken' },
        { name: 'line', summary: 'measures line' },
      ],
    })
  })

  it('prints a table for people, one document under --json, and progress beside them', async () => {
    const table = await bench('line')
    expect(table).toMatchObject({ code: 0, stderr: 'half' })
    expect(table.stdout).toBe(
      'bench line\n setting\n  events        10\n figures\n  events_per_s  81,235\n ratios\n  vs_bare       0.91\n missed: too slow\n',
    )
    expect(JSON.parse((await bench('line', '--json')).stdout)).toEqual({
      bench: 'line',
      figures: { events_per_s: 81234.5 },
      ratios: { vs_bare: 0.91 },
      setting: { events: 10 },
      missed: ['too slow'],
    })
  })

  it('fails for a figure that is no number', async () => {
    const { code, stdout, stderr } = await bench('broken')
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toContain('figures.events_per_s is NaN')
  })

  it.each([
    [['lin'], /unknown benchmark "lin".*did you mean line\?/],
    [['line', '--jsn'], /did you mean --json\?/],
    [['line', 'broken'], /"broken": got one word too many/],
  ])('%j is a usage error', async (words, text) => {
    const { code, stderr } = await bench(...words)
    expect(code).toBe(2)
    expect(stderr).toMatch(text)
  })
})
