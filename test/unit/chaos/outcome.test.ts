import { describe, expect, it } from 'vitest'
import { documentOf, problemsOf, textOf, type Evidence } from '../../../chaos/outcome.ts'
import { checkDelivery } from '../../../src/testing/checker.ts'

const committed = [
  { id: 'a', key: 'k', n: 1 },
  { id: 'b', key: 'k', n: 2 },
]
const records = committed.map(({ id, key }) => ({ id, key }))
const good: Evidence = {
  seed: 7,
  seconds: 90,
  relays: 3,
  lanes: 8,
  broken: null,
  transactions: 9_000,
  kinds: { single: 9_000 },
  figures: checkDelivery(committed, records),
  handled: 2,
  handledTwice: 0,
  faults: { relay_killed: 3 },
  rss: [],
  problems: [],
}

const sample = (atMs: number, ageMs: number, mb: number) => ({ atMs, ageMs, bytes: mb * 1e6 })

describe('the outcome of a chaos run', () => {
  it('is right when everything committed was delivered and handled once, and each fault struck', () => {
    expect(problemsOf(good)).toEqual([])
    expect(documentOf(good)).toMatchObject({
      committed: 2,
      delivered: 2,
      handled: 2,
      lost: 0,
      late_repeats: 0,
      transactions_per_s: 100,
      seed: 7,
    })
    expect(textOf(good)).not.toContain('WRONG')
  })

  it.each<[string, Partial<Evidence>, RegExp]>([
    ['a lost message', { figures: checkDelivery(committed, records.slice(0, 1)), handled: 1 }, /lost is 1/],
    ['a ghost', { figures: checkDelivery(committed, [...records, { id: 'x', key: 'k' }]) }, /ghosts is 1/],
    ['a reordered key', { figures: checkDelivery(committed, records.toReversed()) }, /reordered is 1/],
    ['a late repeat', { figures: checkDelivery(committed, [...records, records[0]!]) }, /late_repeats is 1/],
    ['a message that the consumer never handled', { handled: 1 }, /handled is 1, and should be 2/],
    ['a message handled twice', { handledTwice: 1 }, /handled twice is 1/],
    ['a fault that never struck', { faults: { relay_killed: 3, postgres_killed: 0 } }, /postgres_killed was asked for and never struck/],
    ['nothing committed', { figures: checkDelivery([], []), handled: 0 }, /nothing was committed/],
    ['a relay that gave up', { problems: ['relay 1: SEQUENCE_RESET'] }, /SEQUENCE_RESET/],
  ])('is wrong with %s', (_, change, text) => {
    const evidence = { ...good, ...change }
    expect(problemsOf(evidence).join('\n')).toMatch(text)
    expect(textOf(evidence)).toContain('WRONG')
    expect(documentOf(evidence)).toHaveProperty('problems')
  })

  it('gives the memory of grown-up relays in MB, null where there was none', () => {
    const rss = [sample(1_000, 500, 500), sample(20_000, 31_000, 100), sample(25_000, 36_000, 110), sample(80_000, 90_000, 120)]
    expect(documentOf({ ...good, rss })['rss']).toEqual({ first_third: 105, last_third: 120 })
    expect(documentOf(good)['rss']).toEqual({ first_third: null, last_third: null })
  })
})
