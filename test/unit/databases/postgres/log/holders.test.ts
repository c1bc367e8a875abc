import { expect, test } from 'vitest'
import { Holders, type Holder } from '../../../../../src/databases/postgres/log/holders.ts'
import { OpenNumbers, type OpenRange } from '../../../../../src/databases/postgres/log/open-numbers.ts'

const busy = (virtualtransaction: string): Holder => ({ virtualtransaction, idle: null })
const idle = (virtualtransaction: string, since: string): Holder => ({ virtualtransaction, idle: since })
const rangeOf = (lo: bigint, hi = lo): OpenRange => {
  const open = new OpenNumbers()
  open.add(lo, hi, 0)
  return open.ranges[0]!
}
/** One look: who holds the lock, and what the sequence said afterwards. */
const look = (holders: Holders, lastValue: bigint, ...rows: Holder[]): void => {
  holders.observe(rows)
  holders.sequenceWas(lastValue)
}

test('with nobody at the lock a number has ended at once', () => {
  const holders = new Holders()
  look(holders, 9n)
  expect(holders.hasEnded(rangeOf(5n))).toBe(true)
})

test('it waits for all that held the lock at the first look, and for nobody who came later', () => {
  const holders = new Holders()
  const range = rangeOf(5n)
  look(holders, 9n, busy('3/10'), busy('4/20'))
  expect(holders.hasEnded(range)).toBe(false)
  look(holders, 9n, busy('4/20'), busy('5/30'))
  expect(holders.hasEnded(range)).toBe(false)
  look(holders, 9n, busy('5/30'))
  expect(holders.hasEnded(range)).toBe(true)
})

test('the next transaction of the same session is another one', () => {
  const holders = new Holders()
  const range = rangeOf(5n)
  look(holders, 9n, busy('3/10'))
  expect(holders.hasEnded(range)).toBe(false)
  look(holders, 9n, busy('3/11'))
  expect(holders.hasEnded(range)).toBe(true)
})

test('holders with the local number 0 are no transactions; 10 is not 0', () => {
  const holders = new Holders()
  look(holders, 9n, busy('3/0'))
  expect(holders.hasEnded(rangeOf(5n))).toBe(true)
  look(holders, 9n, busy('3/10'))
  expect(holders.hasEnded(rangeOf(6n))).toBe(false)
})

test('who was idle when the sequence stood below the number, and still is, is exonerated', () => {
  const holders = new Holders()
  look(holders, 4n, idle('3/10', 't1'))
  look(holders, 9n, idle('3/10', 't1'))
  expect(holders.hasEnded(rangeOf(5n))).toBe(true)
})

test('the first look exonerates nobody: the sequence was read after the number was taken', () => {
  const holders = new Holders()
  look(holders, 9n, idle('3/10', 't1'))
  expect(holders.hasEnded(rangeOf(5n))).toBe(false)
})

test.each<[string, Holder, Holder, bigint]>([
  ['was busy in between: idle since another time', idle('3/10', 't1'), idle('3/10', 't2'), 4n],
  ['is busy now', idle('3/10', 't1'), busy('3/10'), 4n],
  ['was busy then', busy('3/10'), idle('3/10', 't1'), 4n],
  ['was idle when the sequence had reached the number', idle('3/10', 't1'), idle('3/10', 't1'), 5n],
  ['can not be seen', busy('3/10'), busy('3/10'), 4n],
])('not exonerated is who %s', (_, before, now, lastValue) => {
  const holders = new Holders()
  look(holders, lastValue, before)
  look(holders, 9n, now)
  expect(holders.hasEnded(rangeOf(5n))).toBe(false)
})

test('of a range that the sequence had partly reached nobody is exonerated', () => {
  const holders = new Holders()
  look(holders, 6n, idle('3/10', 't1'))
  look(holders, 9n, idle('3/10', 't1'))
  expect(holders.hasEnded(rangeOf(5n, 8n))).toBe(false)
  expect(holders.hasEnded(rangeOf(7n, 8n))).toBe(true)
})

test('a prepared transaction takes no numbers any more', () => {
  const holders = new Holders()
  look(holders, 4n, idle('3/10', 'prepared'))
  look(holders, 9n, idle('3/10', 'prepared'))
  expect(holders.hasEnded(rangeOf(5n))).toBe(true)
})

test('who was waited for before is waited for to its end, idle or not', () => {
  const holders = new Holders()
  const range = rangeOf(5n)
  look(holders, 9n, busy('3/10'))
  expect(holders.hasEnded(range)).toBe(false)
  look(holders, 9n, idle('3/10', 't1'))
  look(holders, 9n, idle('3/10', 't1'))
  expect(holders.hasEnded(range)).toBe(false)
})
