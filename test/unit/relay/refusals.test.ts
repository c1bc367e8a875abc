import { expect, test } from 'vitest'
import { calm, message, no, ok, until } from './fakes.ts'
import { running } from './relays.ts'

test('a refused message holds up its own topic and key only; it goes again alone when it is due, then the rest in order', async () => {
  const { source, publisher, clock, named } = await running()
  source.commit(message(1, { key: 'a' }), message(2, { key: 'b' }), message(3, { key: 'a' }), message(4, { key: 'a', topic: 'other' }))
  await until('both topics', () => publisher.open.length === 2)
  const [other, orders] = publisher.open.toSorted((a, b) => a.batch.length - b.batch.length)
  other?.answer(ok)
  orders?.answer(no('transient'), ok, no('unavailable'))
  await until('the others are settled', () => source.settled.size === 2)
  source.commit(message(5, { key: 'a' }), message(6, { key: 'b' }))
  const sixth = await publisher.next()
  expect(sixth.seqs).toEqual([6])
  sixth.answer(ok)
  await clock.advance(99)
  expect(publisher.open).toEqual([])
  await clock.advance(1)
  const head = await publisher.next()
  expect(head.batch).toMatchObject([{ seq: 1n, attempt: 1 }])
  source.commit(message(7, { key: 'a' }))
  await calm()
  head.answer(ok)
  expect((await publisher.next()).seqs).toEqual([3, 5, 7])
  expect(named('message.refused')).toMatchObject([{ seq: 1n, class: 'transient', attempt: 1, retryInMs: 100 }])
})

test('pauses double with each refusal up to the longest; with all attempts used up it is failed, and still never dropped', async () => {
  const policy = { maxAttempts: 4, firstDelayMs: 100, maxDelayMs: 300 }
  const { source, publisher, clock, named } = await running({ policy })
  source.commit(message(1))
  for (const pauseMs of [100, 200, 300, 300, 300]) {
    const publish = await publisher.next()
    expect(publish.seqs).toEqual([1])
    publish.answer(no('transient'))
    await clock.advance(pauseMs - 1)
    expect(publisher.open).toEqual([])
    await clock.advance(1)
  }
  expect(named('message.failed')).toMatchObject([{ seq: 1n, attempt: 4, code: 'TRANSIENT' }])
  const publish = await publisher.next()
  publish.answer(ok)
  await until('it is settled', () => source.settled.has(1n))
})

test('a message that can never be accepted is failed at once, blocks its key, and is tried again after the longest pause', async () => {
  const { source, publisher, clock, named } = await running()
  source.commit(message(1, { key: 'a' }), message(2, { key: null }), message(3, { key: null }), message(4, { key: 'a' }))
  ;(await publisher.next()).answer(no('permanent'), no('permanent'), ok, no('unavailable'))
  await until('the third is settled', () => source.settled.has(3n))
  expect(named('message.failed').map((event) => event.seq)).toEqual([1n, 2n])
  await clock.advance(29_999)
  expect(publisher.open).toEqual([])
  await clock.advance(1)
  await until('both heads', () => publisher.published > 1)
  publisher.auto = (batch) => batch.map(() => ok)
  publisher.answerAll(ok)
  await until('all settled', () => source.settled.size === 4)
  expect(publisher.accepted).toEqual([3n, 1n, 2n, 4n])
})

test('what is sent again goes back to the front in its order, and no attempt is counted', async () => {
  const { source, publisher, clock } = await running({ batchSize: 4 })
  source.commit(...[1, 2, 3, 4, 5, 6].map((seq) => message(seq, { key: `k${seq}` })))
  const first = await publisher.next()
  expect(first.seqs).toEqual([1, 2, 3])
  first.answer(no('throttled', 40), ok, no('throttled', 500))
  await clock.advance(499)
  expect(publisher.open).toEqual([])
  await clock.advance(1)
  const again = await publisher.next()
  expect(again.seqs).toEqual([1, 3, 4])
  expect(again.batch.every((m) => m.attempt === 0)).toBe(true)
})

test('an outage of hours uses up no attempt and fails nothing', async () => {
  const { source, publisher, clock, named } = await running()
  source.commit(message(1), message(2))
  publisher.auto = (batch) => batch.map(() => no('unavailable'))
  await clock.advance(2 * 3600_000)
  expect(named('message.failed')).toEqual([])
  const before = publisher.published
  await clock.advance(60_000)
  const tries = publisher.published - before
  expect(tries).toBeGreaterThanOrEqual(29)
  expect(tries).toBeLessThanOrEqual(31)
  publisher.auto = (batch) => batch.map(() => ok)
  await clock.advance(2000)
  expect([...source.settled]).toEqual([1n, 2n])
})

test('a publisher that is down is probed by one group at a time, each in turn, and all go on at the first success', async () => {
  const { source, publisher, clock } = await running({ lanes: 4 })
  publisher.auto = (batch) => batch.map(() => no('unavailable'))
  source.commit(...[0, 1, 2, 3].map((lane) => message(lane + 1, { lane, key: `k${lane}` })))
  await until('all four failed', () => publisher.published === 4)
  await calm()
  publisher.auto = null
  const probed: number[] = []
  for (let round = 0; round < 4; round++) {
    await clock.advance(2000)
    expect(publisher.open).toHaveLength(1)
    const probe = await publisher.next()
    probed.push(probe.lane)
    // A probe takes as long as it takes: nobody joins it.
    await clock.advance(2000)
    expect(publisher.open).toHaveLength(1)
    probe.answer(no('unavailable'))
    await calm()
  }
  expect(probed.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3])
  await clock.advance(2000)
  ;(await publisher.next()).answer(ok)
  await until('the three others', () => publisher.open.length === 3)
})

test('an outage of one topic holds up no other', async () => {
  const { source, publisher, clock } = await running()
  publisher.auto = (batch) => batch.map((m) => (m.topic === 'down' ? no('unavailable') : ok))
  source.commit(message(1, { topic: 'down' }), message(2))
  await until('the healthy one is settled', () => source.settled.has(2n))
  for (let seq = 10; seq < 30; seq++) {
    source.commit(message(seq))
    await calm()
    await clock.advance(50)
    expect(source.settled.has(BigInt(seq))).toBe(true)
  }
  expect(source.settled.has(1n)).toBe(false)
})

test('with order single no batch holds two messages of a key, and the second goes when the first is accepted', async () => {
  const { source, publisher } = await running({ publish: { order: 'single', group: null } })
  source.commit(
    message(1, { key: 'a' }),
    message(2, { key: 'a' }),
    message(3, { key: 'b' }),
    message(4, { key: 'a' }),
    message(5, { key: null }),
  )
  const seqs: (readonly number[])[] = []
  for (let i = 0; i < 3; i++) {
    const publish = await publisher.next()
    seqs.push(publish.seqs)
    publish.answer(ok)
    await calm()
  }
  expect(seqs).toEqual([[1, 3, 5], [2], [4]])
})

test('a publisher that accepts a later message of a refused key is found out; what it accepted is settled, the rest stays in order', async () => {
  const { source, publisher, clock, named } = await running()
  source.commit(message(1), message(2), message(3))
  ;(await publisher.next()).answer(no('transient'), ok, no('unavailable'))
  await until('the second is settled', () => source.settled.has(2n))
  expect(named('publish.disordered')).toEqual([{ name: 'publish.disordered', lane: 0, group: 'orders', messages: 1 }])
  await clock.advance(100)
  const head = await publisher.next()
  expect(head.seqs).toEqual([1])
  head.answer(ok)
  expect((await publisher.next()).seqs).toEqual([3])
})

test('a slow group leaves room at the broker for the others', async () => {
  const { source, publisher } = await running({ batchSize: 100, maxInFlight: 400 })
  source.commit(...Array.from({ length: 200 }, (_, i) => message(i + 1, { topic: 'slow' })))
  const slow = await publisher.next()
  expect(slow.seqs).toHaveLength(75)
  source.commit(message(1000, { topic: 'quick' }))
  await until('the quick one', () => publisher.open.length === 2)
  expect(publisher.open[1]?.seqs).toEqual([1000])
})

test('a group that is new for its topic waits for what came before it, for its key may be there', async () => {
  let partitions = 0
  const group = (m: { topic: string; key: string | null }) => (partitions === 0 ? m.topic : `${m.topic}/${m.key}`)
  const { source, publisher } = await running({ publish: { group } })
  source.commit(message(1, { key: 'a' }), message(2, { key: 'b' }))
  const first = await publisher.next()
  partitions = 2
  source.commit(message(3, { key: 'a' }), message(4, { key: 'b' }), message(5, { key: 'a', topic: 'other' }))
  await until('the other topic', () => publisher.open.length === 2)
  expect(publisher.open[1]?.seqs).toEqual([5])
  first.answer(ok)
  await until('both new groups', () => publisher.open.length === 3)
  expect(publisher.open.slice(1).map((p) => p.seqs)).toEqual([[3], [4]])
})
