import { expect, test } from 'vitest'
import { Facts } from '../../../demo/facts.ts'

const placed = (id: string) => ({ is: 'order', id, outcome: 'committed' }) as const
const delivered = (...orders: string[]) => ({ is: 'delivered', ids: orders.map((order) => `event of ${order}`), orders }) as const

test('the lag is the age of the oldest committed order that is not delivered, whatever is heard first', () => {
  const facts = new Facts()
  expect(facts.lagMs(1_000)).toBe(0)
  facts.fromRelay(delivered('a'))
  facts.fromShop('outrider', placed('a'))
  expect(facts.lagMs(performance.now() + 60_000)).toBe(0)
  facts.fromShop('outrider', placed('b'))
  facts.fromShop('outrider', placed('c'))
  expect(facts.lagMs(performance.now() + 60_000)).toBeGreaterThanOrEqual(60_000)
  facts.fromRelay(delivered('b', 'c'))
  expect(facts.lagMs(performance.now() + 60_000)).toBe(0)
})

test('orders of the naive shop are not counted as ours', () => {
  const facts = new Facts()
  facts.fromShop('naive', placed('a'))
  facts.fromShop('naive', { is: 'order', id: 'b', outcome: 'rolled back' })
  expect(facts.orders).toBe(0)
  facts.fromShop('outrider', placed('a'))
  facts.fromShop('outrider', { is: 'order', id: 'b', outcome: 'rolled back' })
  expect(facts.orders).toBe(2)
})

test('until answers as soon as what was said makes it true, and false when nothing does', async () => {
  const facts = new Facts()
  const answer = facts.until(() => facts.handledTwice === 1, 60_000)
  facts.fromBilling({ side: 'outrider', is: 'handled', id: 'a', times: 1, outcome: 'billed' })
  facts.fromBilling({ side: 'outrider', is: 'handled', id: 'a', times: 2, outcome: 'duplicate' })
  expect(await answer).toBe(true)
  expect(await facts.until(() => false, 1)).toBe(false)
})
