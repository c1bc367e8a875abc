// What each safety is for, made to happen on the whole line: harmless with it, and damage that the judge finds without it.
import { expect, it } from 'vitest'
import { breakNames, type Break } from '../../chaos/kinds.ts'
import { describeLine } from '../setup/index.ts'
import { chaos } from './chaos-run.ts'

const undisturbed = ['--seconds', '1', '--seed', '1', '--faults', 'none']
const damage: Readonly<Record<Break, string>> = { gap: 'lost', order: 'reordered', epoch: 'late_repeats', fencing: 'late_repeats' }

describeLine('the cases of the chaos run', () => {
  it('do no harm when everything is safe', async () => {
    const { code, document, story } = await chaos(...undisturbed, '--cases', breakNames.join(','))
    expect(document, story).not.toHaveProperty('problems')
    expect(document).toMatchObject({ lost: 0, ghosts: 0, reordered: 0, late_repeats: 0 })
    for (const name of breakNames) expect(story).toContain(`the case of ${name} was made`)
    expect(code).toBe(0)
  }, 240_000)

  it.each(breakNames)(
    'without %s the judge finds the damage',
    async (name) => {
      const { code, document, story } = await chaos(...undisturbed, '--break', name)
      expect(document[damage[name]], story).toBeGreaterThan(0)
      expect(document).toHaveProperty('problems')
      expect(code).toBe(1)
    },
    240_000,
  )
})
