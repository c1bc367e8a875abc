import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const main = join(import.meta.dirname, '../../../chaos/main.ts')
const chaos = (...words: string[]) =>
  new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) => {
    execFile(process.execPath, ['--disable-warning=ExperimentalWarning', main, ...words], (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout, stderr }),
    )
  })

describe('the flags of npm run chaos', () => {
  it.each([
    [['--seconds', '5'], /--seed is missing/],
    [['--seconds', '0', '--seed', 'x'], /--seconds: got "0"[^]*--seed: got "x"/],
    [['--seconds', '5', '--seed', '1', '--sorce', 'log'], /did you mean --source\?/],
    [['--seconds', '5', '--seed', '1', '--source', 'wall'], /did you mean wal\?/],
    [['--seconds', '5', '--seed', '1', '--source', 'wal'], /--source wal is not part of this version/],
    [['--seconds', '5', '--seed', '1', '--break', 'park'], /--break park is not part of this version/],
    [['--seconds', '5', '--seed', '1', '--break', 'gab'], /--break names gab[^]*gap, order, epoch, fencing/],
    [['--seconds', '5', '--seed', '1', '--break', 'gap,order'], /--break names more than one rule/],
    [['--seconds', '5', '--seed', '1', '--cases', 'gap,park'], /--cases names park/],
    [['--seconds', '5', '--seed', '1', '--faults', 'relay_killed,flood'], /--faults names flood[^]*kafka_killed/],
  ])('%j is refused before anything is started', async (words, text) => {
    const { code, stdout, stderr } = await chaos(...words)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(text)
  })

  it('are told by --help, with every kind of fault', async () => {
    const { code, stdout } = await chaos('--help')
    expect(code).toBe(0)
    expect(stdout).toMatch(/--seconds N[^]*--seed S[^]*relay_killed[^]*clock_off/)
  })
})
