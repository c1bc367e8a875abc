// The short form of `npm run chaos`: every kind of fault once, by one seed. docs/chaos.md says how to run it for longer.
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { faultKinds } from '../../chaos/kinds.ts'
import { describeLine } from '../setup/index.ts'

const seed = process.env['OUTRIDER_TEST_SEED'] ?? '7'

function chaos(...words: string[]): Promise<{ code: unknown; document: Record<string, unknown>; story: string }> {
  const main = fileURLToPath(new URL('../../chaos/main.ts', import.meta.url))
  return new Promise((resolve) => {
    execFile(process.execPath, ['--disable-warning=ExperimentalWarning', main, ...words, '--json'], (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, document: JSON.parse(stdout || '{}') as Record<string, unknown>, story: stderr }),
    )
  })
}

describeLine('npm run chaos', () => {
  it('loses nothing, invents nothing and keeps the order of each key while everything is killed, stopped and restarted', async () => {
    const { code, document, story } = await chaos('--seconds', '15', '--seed', seed)
    expect(document, story).toMatchObject({ lost: 0, ghosts: 0, reordered: 0, late_repeats: 0, failed: 0, waiting: 0, seed: Number(seed) })
    expect(document).not.toHaveProperty('problems')
    expect(document['delivered']).toBe(document['committed'])
    expect(document['handled']).toBe(document['committed'])
    expect(document['committed']).toBeGreaterThan(500)
    for (const kind of faultKinds) expect((document['faults'] as Record<string, number>)[kind], kind).toBeGreaterThan(0)
    expect(code).toBe(0)
  }, 240_000)
})
