import { expect, it } from 'vitest'
import { createRandom } from '../../../chaos/random.ts'

const draw = (seed: number, what: string): number[] => {
  const random = createRandom(seed, what)
  return Array.from({ length: 50 }, () => random.next())
}

it('gives the same chances for the same seed and purpose, others for another', () => {
  expect(draw(1, 'relays')).toEqual(draw(1, 'relays'))
  expect(draw(1, 'relays')).not.toEqual(draw(2, 'relays'))
  expect(draw(1, 'relays')).not.toEqual(draw(1, 'writers'))
  expect(draw(4_294_967_295, 'x').every((one) => one >= 0 && one < 1)).toBe(true)
})

it('shuffles without losing any', () => {
  const all = ['a', 'b', 'c', 'd', 'e']
  const orders = Array.from({ length: 20 }, (_, seed) => createRandom(seed, '').shuffled(all))
  for (const order of orders) expect(order.toSorted()).toEqual(all)
  expect(new Set(orders.map(String)).size).toBeGreaterThan(10)
})
