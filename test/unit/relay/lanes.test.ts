import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Publisher } from '../../../src/core/index.ts'
import { createRelay } from '../../../src/relay/index.ts'
import { createMemoryBroker, createMemoryOutbox, createTestClock } from '../../../src/testing/index.ts'
import { calm, message, ok, sourceLost, until } from './fakes.ts'
import { line, running } from './relays.ts'

test('a lane is fenced before anything is read or published for it: advance, store, enter', async () => {
  const { source, publisher } = await running({ publish: { fence: true } })
  source.commit(message(1))
  await publisher.next()
  const steps = source.log.filter((step) => !/^(check|open|renew|acquire)/.test(step))
  expect(steps).toEqual(['advance 0:-', 'storeFence 0:1', 'enter 0:1', 'read 0', 'publish 0:1', 'read 0'])
})

test('the publisher is made ready before a lane is taken; one that does not answer is not waited for longer than a publish may take', async () => {
  const { source, publisher, relay, clock } = line()
  publisher.checking = new Promise(() => {})
  const starting = relay.start()
  await clock.advance(4999)
  expect(source.log).toEqual(['check', 'open'])
  await clock.advance(1)
  await starting
  await until('the lane is asked for', () => source.log.includes('acquire 1'))
})

test('a publisher that is down keeps no relay from standing by', async () => {
  const { source, publisher, relay } = line()
  publisher.checking = Promise.reject(new Error('down'))
  await relay.start()
  await until('the lane is asked for', () => source.log.includes('acquire 1'))
})

test('a fence that is stored already is moved on from there at the take-over', async () => {
  const { source, relay } = line({ publish: { fence: true } })
  source.fences.set(0, Uint8Array.of(7))
  await relay.start()
  await until('the fence', () => source.log.includes('enter 0:8'))
  expect(source.log).toContain('advance 0:7')
  expect(source.fences.get(0)).toEqual(Uint8Array.of(8))
})

test('a lane that is not ours any more at the fence is not entered', async () => {
  const { source, publisher, named } = await running({ publish: { fence: true }, lanes: 2 })
  await until('both fenced', () => named('lane.fenced').length === 2)
  source.commit(message(1))
  const publish = await publisher.next()
  source.takeOver(0)
  publish.fail(new Error('no answer'))
  await until('the loss', () => named('lane.lost').length === 1)
  expect(named('lane.lost')).toMatchObject([{ lane: 0, reason: 'token' }])
  expect(source.log.at(-1)).not.toContain('enter')
  expect(named('lane.fenced')).toHaveLength(2)
})

test('a lane is lost by a settlement: what is at the broker counts for nothing, other lanes go on, and it is taken again when it is free', async () => {
  const { source, publisher, named, clock } = await running({ lanes: 2, batchSize: 4 })
  source.commit(...[1, 2, 3, 4].map((seq) => message(seq, { topic: `t${seq % 2}` })), message(9, { lane: 1 }))
  await until('three publishes', () => publisher.open.length === 3)
  const mine = publisher.open.filter((p) => p.lane === 0)
  source.takeOver(0)
  mine[0]?.answer(ok)
  await until('the loss', () => named('lane.lost').length === 1)
  expect(named('lane.lost')).toEqual([{ name: 'lane.lost', lane: 0, inFlight: 4, reason: 'token' }])
  expect(mine[1]?.signal.aborted).toBe(true)
  mine[1]?.answer(ok)
  publisher.open.find((p) => p.lane === 1)?.answer(ok)
  await until('the other lane is settled', () => source.settled.has(9n))
  await clock.advance(5000)
  expect([...source.settled]).toEqual([9n])
  source.taken.clear()
  await clock.advance(1000)
  await until('both topics again', () => publisher.open.length === 2)
  expect(publisher.open.flatMap((p) => p.seqs).toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4])
})

test('a lane is lost by a renewal', async () => {
  const { source, publisher, named, clock } = await running()
  source.commit(message(1))
  const publish = await publisher.next()
  source.takeOver(0)
  await clock.advance(10_000)
  expect(named('lane.lost')).toMatchObject([{ lane: 0, inFlight: 1, reason: 'token' }])
  publish.answer(ok)
  await calm()
  expect(source.settled.size).toBe(0)
})

test('a lane whose lease ran out while the renewal got no answer is forgotten, given back and taken anew', async () => {
  const { source, publisher, named, clock } = await running()
  await until('the lane', () => named('lane.acquired').length === 1)
  source.holding.add('renew')
  await clock.advance(10_000)
  await clock.advance(20_000)
  expect(named('lane.lost')).toMatchObject([{ lane: 0, reason: 'lease' }])
  source.proceed()
  await clock.advance(1000)
  expect(source.log.filter((step) => step === 'release 0' || step.startsWith('acquire'))).toEqual(['acquire 1', 'release 0', 'acquire 1'])
  source.commit(message(1))
  ;(await publisher.next()).answer(ok)
  await until('it is settled', () => source.settled.has(1n))
})

test('nothing is published when the lease would not outlive it; a renewal is asked for at once, and then it goes on', async () => {
  const { source, publisher, named, clock } = await running({ leaseMs: 12_000 })
  await until('the lane', () => named('lane.acquired').length === 1)
  source.holding.add('renew')
  await clock.advance(7500)
  source.commit(message(1))
  await calm()
  expect(publisher.published).toBe(0)
  expect(named('lane.stale')).toEqual([{ name: 'lane.stale', lane: 0, leftMs: 4500 }])
  source.commit(message(2))
  await calm()
  expect(named('lane.stale')).toHaveLength(1)
  source.proceed()
  await until('it goes on', () => publisher.open.length === 1)
  expect(publisher.open[0]?.seqs).toEqual([1, 2])
})

test('a process that stood still past its lease publishes nothing before a renewal says that the lane is still its own', async () => {
  let nowMs = 0
  const sleepers: (() => void)[] = []
  const clock = {
    monotonicMs: () => nowMs,
    wallMs: () => nowMs,
    sleep: (_ms: number, signal?: AbortSignal) =>
      new Promise<void>((resolve) => {
        sleepers.push(resolve)
        signal?.addEventListener('abort', () => resolve())
      }),
  }
  const { source, publisher, named } = await running({ clock })
  await until('the lane', () => named('lane.acquired').length === 1)
  nowMs = 60_000
  source.takeOver(0)
  source.commit(message(1))
  await until('the loss', () => named('lane.lost').length === 1)
  expect(publisher.published).toBe(0)
  expect(named('lane.stale')).toMatchObject([{ leftMs: -30_000 }])
})

test('a lane acquired again publishes nothing before what the old one has at the broker has ended', async () => {
  const { source, publisher, named, clock } = await running({ publish: { fence: true } })
  source.commit(message(1))
  const old = await publisher.next()
  source.takeOver(0)
  await clock.advance(10_000)
  source.taken.clear()
  await clock.advance(1000)
  expect(named('lane.acquired')).toHaveLength(2)
  expect(publisher.published).toBe(1)
  expect(source.log.filter((step) => step.startsWith('advance'))).toHaveLength(1)
  old.answer(ok)
  await until('it is published anew', () => publisher.published === 2)
  expect(source.log.filter((step) => /^(enter|publish)/.test(step))).toEqual(['enter 0:1', 'publish 0:1', 'enter 0:2', 'publish 0:1'])
})

test('what a read brings for a lane that was lost meanwhile goes to nobody, even when the lane is held again', async () => {
  const held = Promise.withResolvers<void>()
  let reads = 0
  const pauses = (point: string): Promise<void> | void => {
    if (point === 'read' && ++reads === 1) return held.promise
  }
  const { source, publisher, named, clock } = await running({ lanes: 2, pauses })
  source.commit(message(2))
  await until('the first read', () => reads === 1)
  source.takeOver(0)
  await clock.advance(10_000)
  expect(named('lane.lost')).toHaveLength(1)
  source.taken.clear()
  await clock.advance(1000)
  source.commit(message(1, { key: 'b' }))
  held.resolve()
  const publish = await publisher.next()
  expect(publish.seqs).toEqual([1, 2])
})

test('a relay that has all lanes asks for no more', async () => {
  const { source, clock, named } = await running({ lanes: 2 })
  await until('the lanes', () => named('lane.acquired').length === 2)
  await clock.advance(60_000)
  expect(source.log.filter((step) => step.startsWith('acquire'))).toHaveLength(1)
  expect(source.log.filter((step) => step === 'renew')).toHaveLength(6)
})

test('a second relay stands by, takes the lanes as soon as they are given back, and repeats nothing', async () => {
  const clock = createTestClock()
  const outbox = createMemoryOutbox({ lanes: 4, clock })
  const write = (count: number) =>
    outbox.transaction((tx) => {
      for (let i = 0; i < count; i++) {
        const aggregateId = `k${i}`
        tx.insert([
          { id: randomUUID(), aggregateType: 'order', aggregateId, type: 'X', payload: '{}', headers: null, topic: null, key: null },
        ])
      }
    })
  const broker = createMemoryBroker({ fence: false })
  // Closing one relay must not close the broker of the other.
  const shared = (): Publisher => ({
    name: 'memory',
    order: 'batch',
    limits: broker.limits,
    publish: (batch, context) => broker.publish(batch, context),
    check: () => broker.check(),
    close: async () => {},
  })
  const first = createRelay({ source: outbox.source(), publisher: shared(), clock })
  const second = createRelay({ source: outbox.source(), publisher: shared(), clock })
  const taken: number[] = []
  second.subscribe((event) => {
    if (event.name === 'lane.acquired') taken.push(event.lane)
  })
  await first.start()
  await second.start()
  await write(20)
  await outbox.settled()
  await clock.advance(60_000)
  expect(taken).toEqual([])
  await first.stop()
  await clock.advance(1000)
  expect(taken).toEqual([0, 1, 2, 3])
  await write(20)
  await outbox.settled()
  expect(broker.records()).toHaveLength(40)
  await second.stop()
})

test('a relay that lacks lanes asks for them once a second', async () => {
  const { source, publisher, clock, named } = await running({ lanes: 2 })
  source.taken.add(1)
  await until('both lanes', () => named('lane.acquired').length === 2)
  await clock.advance(10_000)
  expect(named('lane.lost')).toMatchObject([{ lane: 1 }])
  const asked = () => source.log.filter((step) => step === 'acquire 1').length
  const before = asked()
  await clock.advance(10_000)
  expect(asked() - before).toBe(10)
  source.taken.clear()
  await clock.advance(1000)
  expect(named('lane.acquired')).toHaveLength(3)
  source.commit(message(1, { lane: 1 }))
  ;(await publisher.next()).answer(ok)
  await until('it is settled', () => source.settled.size === 1)
})

test('a lost source: all is forgotten, the broker is waited for, and the source is opened and its lanes taken anew', async () => {
  const { source, publisher, clock, named } = await running({ lanes: 2 })
  source.commit(message(1), message(2, { lane: 1 }))
  await until('two publishes', () => publisher.open.length === 2)
  const [one, two] = [...publisher.open]
  source.lose()
  await until('the loss', () => named('source.lost').length === 1)
  expect(named('lane.lost').map((event) => event.reason)).toEqual(['source', 'source'])
  expect(one?.signal.aborted).toBe(true)
  one?.answer(ok)
  await clock.advance(5000)
  expect(source.opens).toBe(1)
  two?.fail(new Error('aborted'))
  await calm()
  await clock.advance(5000)
  expect(source.opens).toBe(2)
  expect(publisher.isClosed).toBe(false)
  await until('both again', () => publisher.open.length === 2)
  expect(source.settled.size).toBe(0)
})

test.each(['settle', 'renew', 'acquire', 'storeFence'] as const)('the source may be lost in any call: %s', async (call) => {
  const { source, publisher, relay, clock, named } = await running({ lanes: 2, publish: { fence: true } })
  await until('the lanes', () => named('lane.fenced').length === 2)
  source.failing.set(call, sourceLost())
  if (call === 'acquire') source.takeOver(1)
  source.commit(message(1))
  const publish = await publisher.next()
  if (call === 'storeFence') publish.fail(new Error('nothing is known'))
  else publish.answer(ok)
  publisher.auto = (batch) => batch.map(() => ok)
  await clock.advance(15_000)
  await until('it is opened again', () => source.opens === 2)
  source.taken.clear()
  await clock.advance(2000)
  await until('it is settled', () => source.settled.has(1n))
  expect(named('source.lost')).toHaveLength(1)
  expect(relay.state).toBe('running')
})
