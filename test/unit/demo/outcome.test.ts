import { expect, test } from 'vitest'
import { jsonOf, problemsOf, tableOf, type Outcome } from '../../../demo/outcome.ts'
import type { SideFigures } from '../../../demo/talk.ts'

const clean: SideFigures = {
  committed: 350,
  delivered: 350,
  handled: 350,
  lost: 0,
  ghosts: 0,
  reordered: 0,
  duplicates: 41,
  lateRepeats: 0,
  failed: 0,
  waiting: 0,
  billedTwice: 0,
  examples: { lost: [], ghosts: [], reordered: [], lateRepeats: [] },
}
const wrong: SideFigures = { ...clean, delivered: 330, handled: 330, lost: 20, ghosts: 9, reordered: 4, duplicates: 0, billedTwice: 12 }

function outcome(
  outrider: Partial<SideFigures> = {},
  naive: Partial<SideFigures> = {},
  faults: Outcome['faults'] = { relay_killed: 1 },
): Outcome {
  return {
    figures: { outrider: { ...clean, ...outrider }, naive: { ...wrong, ...naive } },
    faults,
    broker: 'b',
    database: 'd',
    seconds: 38.2,
  }
}

test('clean figures of Outrider beside wrong ones of the naive shop are what the demo is to show', () => {
  expect(problemsOf(outcome())).toEqual([])
})

test.each(['lost', 'ghosts', 'reordered', 'lateRepeats', 'billedTwice'] as const)('one %s of Outrider is wrong', (name) => {
  expect(problemsOf(outcome({ [name]: 1 }))).toHaveLength(1)
})

test('an order that is not delivered, or not billed, is wrong, and so is a run without orders', () => {
  expect(problemsOf(outcome({ delivered: 349 }))).toEqual(['outrider: 349 delivered of 350 committed'])
  expect(problemsOf(outcome({ handled: 349 }))).toEqual(['outrider: 349 billed of 350 committed'])
  expect(problemsOf(outcome({ committed: 0, delivered: 0, handled: 0 }))).toEqual(['outrider: nothing was committed'])
})

test('a naive shop without a flaw proves nothing', () => {
  expect(problemsOf(outcome({}, { lost: 0, ghosts: 0, reordered: 0 }))).toEqual(['naive: nothing went wrong, so the run proves nothing'])
})

test('a fault that did not strike is wrong', () => {
  expect(problemsOf(outcome({}, {}, { broker_stopped: 0, relay_killed: 1 }))).toEqual(['the fault broker_stopped did not strike'])
})

test('the ids behind a wrong figure are told', () => {
  const examples = { ...clean.examples, lost: ['o-007', 'o-008'] }
  expect(problemsOf(outcome({ lost: 2, examples }))).toEqual(['outrider: lost is 2, such as o-007, o-008'])
})

test('the document has the same figures for both sides, the faults and what they were taken on', () => {
  const side = {
    committed: 350,
    delivered: 350,
    handled: 350,
    lost: 0,
    ghosts: 0,
    reordered: 0,
    duplicates: 41,
    late_repeats: 0,
    billed_twice: 0,
  }
  expect(jsonOf(outcome())).toEqual({
    ...side,
    naive: { ...side, delivered: 330, handled: 330, lost: 20, ghosts: 9, reordered: 4, duplicates: 0, billed_twice: 12 },
    faults: { relay_killed: 1 },
    broker: 'b',
    database: 'd',
    seconds: 38.2,
  })
})

test('the table has a column a side', () => {
  expect(tableOf(outcome()).slice(0, 3)).toEqual([
    '               naive   outrider',
    '  committed      350        350',
    '  lost            20          0',
  ])
  expect(tableOf(outcome())[5]).toBe('  duplicates       0         41  all absorbed by the inbox')
})
