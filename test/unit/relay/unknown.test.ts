import { expect, test } from 'vitest'
import { calm, message, no, ok, until } from './fakes.ts'
import { running } from './relays.ts'

const steps = (log: readonly string[]) => log.filter((step) => /^(advance|storeFence|enter|publish)/.test(step))

test.each([
  ['a publish that throws', 'throw'],
  ['an answer of the wrong length', 'short'],
  ['an answer that is none', 'none'],
  ['a verdict unknown', 'unknown'],
])('%s: the fence moves on before anything more is published for the lane, then all is sent again in order', async (_, how) => {
  const { source, publisher, clock, named } = await running({ publish: { fence: true } })
  source.commit(message(1), message(2), message(3, { topic: 'other' }))
  await until('both topics', () => publisher.open.length === 2)
  const [other, orders] = publisher.open.toSorted((a, b) => a.batch.length - b.batch.length)
  source.commit(message(4, { topic: 'third' }))
  await until('the third', () => publisher.open.length === 3)
  if (how === 'throw') orders?.fail(new Error('reset'))
  if (how === 'short') orders?.answerRaw([ok])
  if (how === 'none') orders?.answerRaw(undefined)
  if (how === 'unknown') orders?.answer(no('unknown'))
  source.commit(message(5, { topic: 'fourth' }))
  await calm()
  // The others of the lane are waited for; nothing is launched.
  expect(publisher.published).toBe(3)
  other?.answer(ok)
  publisher.open.find((p) => p.group === 'third')?.answer(ok)
  await until('the fence', () => named('lane.fenced').length === 2)
  expect(named('lane.fenced')[1]).toEqual({ name: 'lane.fenced', lane: 0, reason: 'unknown' })
  await clock.advance(200)
  await until('all is sent', () => publisher.published === 5)
  expect(steps(source.log).slice(6)).toEqual([
    'advance 0:1',
    'storeFence 0:2',
    'enter 0:2',
    expect.stringContaining('publish'),
    expect.stringContaining('publish'),
  ])
  expect(publisher.open.map((p) => p.seqs).toSorted((a, b) => (a[0] ?? 0) - (b[0] ?? 0))).toEqual([[1, 2], [5]])
  expect(named('publish.unknown')).toHaveLength(1)
})

test('what is known of a batch counts, also when the rest is unknown', async () => {
  const { source, publisher, clock } = await running({ publish: { fence: true } })
  source.commit(message(1, { key: 'a' }), message(2, { key: 'b' }), message(3, { key: 'c' }))
  ;(await publisher.next()).answer(ok, no('unknown'), no('transient'))
  await until('the first is settled', () => source.settled.has(1n))
  await clock.advance(100)
  expect((await publisher.next()).seqs).toEqual([2, 3])
})

test('without a fence it is simply sent again', async () => {
  const { source, publisher, clock } = await running()
  source.commit(message(1), message(2))
  ;(await publisher.next()).fail(new Error('reset'))
  await clock.advance(100)
  expect((await publisher.next()).seqs).toEqual([1, 2])
})

test('a fence that can not move on is tried again, and nothing is published meanwhile', async () => {
  const { source, publisher, clock, named } = await running({ publish: { fence: true } })
  await until('the fence', () => named('lane.fenced').length === 1)
  source.commit(message(1))
  publisher.failAdvance = new Error('the broker is down')
  ;(await publisher.next()).fail(new Error('reset'))
  await until('the failure', () => named('fence.failed').length === 1)
  publisher.failAdvance = new Error('still down')
  await clock.advance(100)
  expect(named('fence.failed').map((event) => event.retryInMs)).toEqual([100, 200])
  expect(publisher.published).toBe(1)
  await clock.advance(200)
  await until('it goes on', () => publisher.published === 2)
})

test('a late publish is aborted, and its group waits for its end', async () => {
  const { source, publisher, clock, named } = await running({ publish: { publishTimeoutMs: 1000 } })
  source.commit(message(1))
  const late = await publisher.next()
  source.commit(message(2))
  await clock.advance(1199)
  expect(late.signal.aborted).toBe(false)
  await clock.advance(1)
  expect(late.signal.aborted).toBe(true)
  await clock.advance(900)
  expect(publisher.published).toBe(1)
  // What it says at last is still worth something.
  late.answer(ok)
  await until('it is settled', () => source.settled.has(1n))
  expect((await publisher.next()).seqs).toEqual([2])
  expect(named('publish.unknown')).toEqual([])
})

test('a publish that never ends is given up; what it says much later is ignored', async () => {
  const { source, publisher, clock, named } = await running({ publish: { publishTimeoutMs: 1000, fence: true } })
  source.commit(message(1))
  const zombie = await publisher.next()
  publisher.open.splice(0)
  await clock.advance(2200)
  expect(named('publish.unknown')).toHaveLength(1)
  await clock.advance(100)
  await until('it is sent again', () => publisher.published === 2)
  expect(steps(source.log).slice(-2)).toEqual(['enter 0:2', 'publish 0:1'])
  publisher.open.unshift(zombie)
  zombie.answer(ok)
  await calm()
  expect(source.settled.size).toBe(0)
  ;(await publisher.next()).answer(ok)
  await until('it is settled', () => source.settled.has(1n))
})

test('a hanging publish of one topic holds up no other', async () => {
  const { source, publisher } = await running()
  source.commit(message(1, { topic: 'hangs' }))
  await publisher.next()
  publisher.auto = (batch) => batch.map(() => ok)
  for (let seq = 2; seq < 50; seq++) {
    source.commit(message(seq))
    await until('it is settled', () => source.settled.has(BigInt(seq)))
  }
})
