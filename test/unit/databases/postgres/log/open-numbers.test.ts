import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { intersect, OpenNumbers, subtract, type Range } from '../../../../../src/databases/postgres/log/open-numbers.ts'

const highest = 40
const range = fc
  .tuple(fc.integer({ min: 0, max: highest }), fc.integer({ min: 0, max: 12 }))
  .map(([lo, length]) => ({ lo: BigInt(lo), hi: BigInt(lo + length) }))
const step = fc.record({ what: fc.constantFrom('add', 'add', 'remove'), range })
const numbers = (ranges: readonly Range[]): Set<number> =>
  new Set(ranges.flatMap(({ lo, hi }) => Array.from({ length: Number(hi - lo) + 1 }, (_, i) => Number(lo) + i)))
const isSortedAndDisjoint = (ranges: readonly Range[]): boolean =>
  ranges.every((r, i) => r.lo <= r.hi && (i === 0 || ranges[i - 1]!.hi < r.lo))
/** Ranges made of a set, so sorted and disjoint. */
const ranges = fc.uniqueArray(fc.integer({ min: 0, max: highest }), { maxLength: 25 }).map((chosen) => {
  const open = new OpenNumbers()
  for (const n of chosen) open.add(BigInt(n), BigInt(n), 0)
  return open.ranges.map(({ lo, hi }) => ({ lo, hi }))
})

test('adding and removing ranges is adding and removing numbers; ranges stay sorted and disjoint', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const open = new OpenNumbers()
      const model = new Set<number>()
      for (const {
        what,
        range: { lo, hi },
      } of steps) {
        if (what === 'add') open.add(lo, hi, 0)
        else open.remove(lo, hi)
        for (const n of numbers([{ lo, hi }])) {
          if (what === 'add') model.add(n)
          else model.delete(n)
        }
        expect(isSortedAndDisjoint(open.ranges)).toBe(true)
        expect(numbers(open.ranges)).toEqual(model)
        expect(open.count).toBe(BigInt(model.size))
        for (let n = 0; n <= highest + 14; n++) expect(open.find(BigInt(n)) !== undefined).toBe(model.has(n))
      }
    }),
  )
})

test('what is open already keeps its age and its wait when it is added once more', () => {
  const open = new OpenNumbers()
  open.add(5n, 6n, 100)
  const first = open.find(5n)!
  first.waitFor = new Set(['3/7'])
  open.add(1n, 10n, 900)
  expect(open.ranges.map(({ lo, hi, sinceMs }) => [lo, hi, sinceMs])).toEqual([
    [1n, 4n, 900],
    [5n, 6n, 100],
    [7n, 10n, 900],
  ])
  expect(open.find(6n)!.waitFor).toEqual(new Set(['3/7']))
  expect(open.find(7n)!.waitFor).toBe(null)
})

test('what is left of a range on both sides waits on its own', () => {
  const open = new OpenNumbers()
  open.add(1n, 9n, 0)
  open.find(1n)!.waitFor = new Set(['3/7', '4/8'])
  open.remove(5n, 5n)
  open.find(1n)!.waitFor!.delete('3/7')
  expect(open.find(1n)!.waitFor).toEqual(new Set(['4/8']))
  expect(open.find(9n)!.waitFor).toEqual(new Set(['3/7', '4/8']))
})

test('intersect and subtract are those of sets', () => {
  fc.assert(
    fc.property(ranges, ranges, range, (a, b, r) => {
      const both = intersect(a, b)
      const inB = numbers(b)
      expect(isSortedAndDisjoint(both)).toBe(true)
      expect(numbers(both)).toEqual(new Set([...numbers(a)].filter((n) => inB.has(n))))
      const rest = subtract(r, b)
      expect(isSortedAndDisjoint(rest)).toBe(true)
      expect(numbers(rest)).toEqual(new Set([...numbers([r])].filter((n) => !inB.has(n))))
    }),
  )
})
