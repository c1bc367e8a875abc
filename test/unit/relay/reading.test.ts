import { expect, test } from 'vitest'
import { calm, message, no, ok, until } from './fakes.ts'
import { running } from './relays.ts'

const many = (from: number, count: number, facts = {}) => Array.from({ length: count }, (_, i) => message(from + i, facts))

test('the next read goes on while the broker works', async () => {
  const { source, publisher } = await running()
  source.commit(message(1))
  await publisher.next()
  source.commit(message(2, { topic: 'other' }))
  await until('the second', () => publisher.open.length === 2)
})

test('no more of a lane is in hand than maxInFlight, and no more at the broker than batchSize', async () => {
  const { source, publisher } = await running({ batchSize: 10, maxInFlight: 30, publish: { group: null } })
  source.commit(...many(1, 100))
  await calm()
  expect(publisher.open.map((p) => p.seqs.length)).toEqual([10])
  const reads = source.reads
  await calm()
  // It is full: it doesn't ask.
  expect(source.reads).toBe(reads)
  expect(source.log.at(-1)).toMatch(/^publish/)
})

test('a lane that gains room while a read waits for others is asked for at once', async () => {
  const { source, publisher } = await running({ lanes: 2, batchSize: 10, maxInFlight: 10, publish: { group: null } })
  source.commit(...many(1, 20))
  const publish = await publisher.next()
  await until('a read for the other lane only', () => source.log.includes('read 1'))
  publish.answer(ok)
  await until('the rest', () => publisher.published === 2)
  expect(publisher.open[0]?.seqs[0]).toBe(11)
})

test('messages of blocked keys count against the room of their lane; what is left of it is used', async () => {
  const { source, publisher } = await running({ batchSize: 10, maxInFlight: 10, publish: { group: null } })
  publisher.auto = (batch) => batch.map((m) => (m.key === 'bad' ? no('permanent') : ok))
  source.commit(...many(1, 9, { key: 'bad' }))
  await until('the failure', () => publisher.published === 1)
  source.commit(...many(20, 5, { key: 'good' }))
  await until('the good ones are settled', () => source.settled.size === 5)
  source.commit(message(30, { key: 'bad' }), message(31, { key: 'good' }))
  await calm()
  // Now the lane is full of what is blocked: it stalls, and nothing is lost.
  expect(source.settled.has(31n)).toBe(false)
})

test('an idle relay asks once and waits', async () => {
  const { source, clock } = await running({ lanes: 8 })
  await calm()
  const reads = source.reads
  await clock.advance(60_000)
  expect(source.reads).toBe(reads)
  expect(reads).toBeLessThanOrEqual(3)
})

test('a busy relay reads about once for each batch', async () => {
  const { source, publisher } = await running({ lanes: 4, batchSize: 100, maxInFlight: 200, publish: { group: null } })
  publisher.auto = (batch) => batch.map(() => ok)
  const reads = source.reads
  for (let lane = 0; lane < 4; lane++) source.commit(...many(1 + lane * 10_000, 2000, { lane }))
  await until('all is settled', () => source.settled.size === 8000)
  expect(source.reads - reads).toBeLessThan(100)
})

test('all that is accepted during a settlement goes into the next one, for all lanes', async () => {
  const { source, publisher } = await running({ lanes: 4 })
  source.holding.add('settle')
  source.commit(...[0, 1, 2, 3].map((lane) => message(lane + 1, { lane })))
  await until('four publishes', () => publisher.open.length === 4)
  publisher.open[0]?.answer(ok)
  await until('a settlement', () => source.log.includes('settle 1'))
  publisher.answerAll(ok)
  await calm()
  source.proceed()
  await until('all settled', () => source.settled.size === 4)
  expect(source.log.filter((step) => step.startsWith('settle'))).toEqual(['settle 1', 'settle 3'])
})

test('a message that becomes visible late goes before the higher numbers that still wait', async () => {
  const { source, publisher } = await running({ publish: { group: null }, batchSize: 2 })
  source.commit(message(10), message(11), message(12), message(13))
  const first = await publisher.next()
  source.commit(message(5))
  await calm()
  first.answer(ok)
  expect((await publisher.next()).seqs).toEqual([5, 12])
})

test('the pause points come after a read, after the broker accepted, and before a settlement', async () => {
  const points: string[] = []
  const pauses = (point: string, messages: readonly { seq: bigint }[]) =>
    void points.push(`${point} ${messages.map((m) => m.seq).join(',')}`)
  const { source, publisher } = await running({ pauses })
  source.commit(message(1), message(2, { key: 'b' }))
  ;(await publisher.next()).answer(ok, no('transient'))
  await until('it is settled', () => source.settled.size === 1)
  expect(points).toEqual(['read 1,2', 'accepted 1', 'settle 1'])
})
