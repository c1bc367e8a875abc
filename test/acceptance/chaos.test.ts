// The short form of `npm run chaos`: every kind of fault once, by one seed. docs/chaos.md says how to run it for longer.
import { expect, it } from 'vitest'
import { faultKinds } from '../../chaos/kinds.ts'
import { describeLine } from '../setup/index.ts'
import { chaos } from './chaos-run.ts'

const seed = process.env['OUTRIDER_TEST_SEED'] ?? '7'

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
