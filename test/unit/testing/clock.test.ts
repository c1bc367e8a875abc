import { expect, test } from 'vitest'
import { createTestClock } from '../../../src/testing/index.ts'

test('time stands still until it is moved, and sleepers wake in order at their own time', async () => {
  const clock = createTestClock()
  const woken: [string, number][] = []
  void clock.sleep(20).then(() => woken.push(['late', clock.monotonicMs()]))
  void clock.sleep(10).then(async () => {
    woken.push(['early', clock.monotonicMs()])
    await clock.sleep(5)
    woken.push(['again', clock.monotonicMs()])
  })
  expect(clock.sleepers).toBe(2)
  expect(await clock.sleeping(2)).toBe(10)
  await clock.advance(100)
  expect(woken).toEqual([
    ['early', 10],
    ['again', 15],
    ['late', 20],
  ])
  expect(clock.monotonicMs()).toBe(100)
  expect(clock.wallMs()).toBe(Date.UTC(2026, 0, 1) + 100)
})

test('a sleeper wakes at once when its signal aborts, and an aborted one does not sleep', async () => {
  const clock = createTestClock()
  const stop = new AbortController()
  const asleep = clock.sleep(1000, stop.signal)
  stop.abort()
  await asleep
  await clock.sleep(1000, stop.signal)
  expect(clock.sleepers).toBe(0)
})

test('a test can wait until somebody sleeps', async () => {
  const clock = createTestClock()
  const waiting = clock.sleeping()
  void clock.sleep(30)
  expect(await waiting).toBe(30)
})
