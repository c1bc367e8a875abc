import { expect, test } from 'vitest'
import { OutriderError } from '../../../src/core/index.ts'
import { createRelay } from '../../../src/relay/index.ts'
import { calm, FakePublisher, FakeSource, message, no, ok, sourceLost, until } from './fakes.ts'
import { line, running } from './relays.ts'

test('what is committed is published, then settled, and the events tell of it', async () => {
  const { source, publisher, relay, events, named } = await running({ lanes: 2 })
  source.commit(message(1), message(2, { lane: 1 }))
  await until('two publishes', () => publisher.open.length === 2)
  expect(source.settled.size).toBe(0)
  publisher.answerAll(ok)
  await until('both settled', () => source.settled.size === 2)
  expect(await relay.stop()).toEqual({ unsettled: 0 })
  expect(relay.state).toBe('stopped')
  await relay.done
  expect(events[0]).toMatchObject({ name: 'relay.started', lanes: 2, source: 'fake', publisher: 'fake' })
  expect(named('lane.acquired')).toHaveLength(2)
  expect(named('publish.done')).toHaveLength(2)
  expect(named('lane.released')).toHaveLength(2)
  expect(events.at(-1)).toEqual({ name: 'relay.stopped', relay: 'test', unsettled: 0 })
})

test('start twice is one start', async () => {
  const { source, relay } = line()
  await Promise.all([relay.start(), relay.start()])
  await relay.start()
  expect(source.opens).toBe(1)
})

test('a stop before the start closes both ends, and a start after a stop says what to do', async () => {
  const { source, publisher, relay } = line()
  await relay.stop()
  expect([source.isClosed, publisher.isClosed, source.opens]).toEqual([true, true, 0])
  await expect(relay.start()).rejects.toMatchObject({ code: 'CLOSED', hint: expect.stringContaining('createRelay') })
  expect(await relay.stop()).toEqual({ unsettled: 0 })
})

test('a stop while the source is opened ends the start', async () => {
  const { source, relay } = line()
  source.holding.add('open')
  const starting = relay.start()
  await calm()
  await relay.stop()
  await starting
  expect(relay.state).toBe('stopped')
})

test('a stop lets what is at the broker end, settles it, and takes and launches nothing more', async () => {
  const { source, publisher, relay } = await running({ batchSize: 2, publish: { group: null } })
  source.commit(message(1), message(2), message(3))
  const publish = await publisher.next()
  const stopping = Promise.all([relay.stop(), relay.stop()])
  source.commit(message(4))
  await calm()
  expect(relay.state).toBe('stopping')
  expect(source.log).not.toContain('release 0')
  publish.answer(ok)
  expect(await stopping).toEqual([{ unsettled: 0 }, { unsettled: 0 }])
  expect([...source.settled]).toEqual([1n, 2n])
  expect(publisher.published).toBe(1)
  expect(source.log.slice(-4)).toEqual(['settle 2', 'release 0', 'close source', 'close publisher'])
})

test('after the grace what is still at the broker is aborted and counted', async () => {
  const { source, publisher, relay, clock, named } = await running()
  source.commit(message(1), message(2))
  const publish = await publisher.next()
  const stopping = relay.stop({ graceMs: 3000 })
  await clock.advance(2999)
  expect(publish.signal.aborted).toBe(false)
  await clock.advance(1)
  expect(publish.signal.aborted).toBe(true)
  await clock.advance(1000)
  expect(await stopping).toEqual({ unsettled: 2 })
  expect(named('relay.stopped')).toEqual([{ name: 'relay.stopped', relay: 'test', unsettled: 2 }])
  expect(source.log).toContain('release 0')
})

test('a second stop may shorten the grace', async () => {
  const { source, publisher, relay, clock } = await running()
  source.commit(message(1))
  const publish = await publisher.next()
  const first = relay.stop({ graceMs: 60_000 })
  const second = relay.stop({ graceMs: 0 })
  await calm()
  expect(publish.signal.aborted).toBe(true)
  await clock.advance(1000)
  expect(await Promise.all([first, second])).toEqual([{ unsettled: 1 }, { unsettled: 1 }])
})

test('a settlement that never ends holds up a stop no longer than the grace', async () => {
  const { source, publisher, relay, clock } = await running()
  source.commit(message(1))
  const publish = await publisher.next()
  source.holding.add('settle')
  publish.answer(ok)
  await until('the settlement', () => source.log.includes('settle 1'))
  const stopping = relay.stop({ graceMs: 1000 })
  await clock.advance(2000)
  expect(await stopping).toEqual({ unsettled: 1 })
})

test('drain runs until nothing is left, and then stops', async () => {
  const { source, publisher, relay, clock } = line()
  publisher.auto = (batch) => batch.map(() => ok)
  source.commit(...Array.from({ length: 30 }, (_, i) => message(i + 1)))
  const draining = relay.drain({ maxMs: 10_000 })
  expect(relay.drain()).toBe(draining)
  await until('all settled', () => source.settled.size === 30)
  await clock.advance(1000)
  expect(await draining).toEqual({ delivered: 30, backlog: 0 })
  expect(relay.state).toBe('stopped')
})

test('drain tells what is left when its time is over', async () => {
  const { source, publisher, relay, clock } = line()
  publisher.auto = (batch) => batch.map((m) => (m.key === 'bad' ? no('permanent') : ok))
  source.commit(message(1, { key: 'bad' }), message(2), message(3, { key: 'bad' }))
  const draining = relay.drain({ maxMs: 4000 })
  await until('one settled', () => source.settled.size === 1)
  await clock.advance(5000)
  expect(await draining).toEqual({ delivered: 1, backlog: 2 })
})

test('a final error of the source ends the relay and says so, once', async () => {
  const { source, relay, named } = await running()
  const error = new OutriderError('SEQUENCE_RESET', 'The sequence went back.')
  source.lose(error)
  await expect(relay.done).rejects.toBe(error)
  expect(relay.state).toBe('failed')
  expect(source.isClosed).toBe(true)
  expect(named('relay.failed')).toEqual([{ name: 'relay.failed', relay: 'test', error }])
  await expect(relay.start()).rejects.toBe(error)
  expect(await relay.stop()).toEqual({ unsettled: 0 })
  expect(relay.state).toBe('failed')
})

test('a start or drain on a source that refuses to be read rejects with its error', async () => {
  const { source, relay } = line()
  const error = new OutriderError('SEQUENCE_CACHED', 'The sequence caches.')
  source.failing.set('open', error)
  await expect(relay.start()).rejects.toBe(error)
  await expect(relay.drain()).rejects.toBe(error)
})

test('no promise of the relay that nobody looks at ends the process', async () => {
  const unhandled: unknown[] = []
  const note = (error: unknown): void => void unhandled.push(error)
  process.on('unhandledRejection', note)
  const { source, relay } = line()
  source.failing.set('acquire', new Error('a bug'))
  void relay.start()
  await until('the failure', () => relay.state === 'failed')
  void relay.drain()
  await calm()
  process.off('unhandledRejection', note)
  expect(unhandled).toEqual([])
})

test('a start waits for a source that is down, with pauses that grow to five seconds', async () => {
  const { source, relay, clock, named } = line()
  source.failing.set('open', sourceLost())
  const starting = relay.start()
  for (let tries = 0; tries < 9; tries++) {
    await until('a pause', () => named('source.lost').length === tries + 1)
    if (tries < 8) source.failing.set('open', sourceLost())
    await clock.advance(named('source.lost').at(-1)?.retryInMs ?? 0)
  }
  await starting
  expect(named('source.lost').map((event) => event.retryInMs)).toEqual([100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000])
})

test('a subscriber that throws disturbs nobody, and one that left hears nothing', async () => {
  const { source, publisher, relay } = line()
  const heard: string[] = []
  relay.subscribe(() => {
    throw new Error('no')
  })
  const leave = relay.subscribe((event) => void heard.push(event.name))
  await relay.start()
  leave()
  publisher.auto = (batch) => batch.map(() => ok)
  source.commit(message(1))
  await until('it is settled', () => source.settled.size === 1)
  expect(heard).toEqual(['relay.started'])
})

test('a logger is told of each event at its level, with numbers that JSON can carry', async () => {
  const lines: [string, unknown, string][] = []
  const level = (name: string) => (facts: Readonly<Record<string, unknown>>, text: string) => void lines.push([name, facts, text])
  const logger = { debug: level('debug'), info: level('info'), warn: level('warn'), error: level('error') }
  const { source, publisher } = await running({ logger })
  publisher.auto = (batch) => batch.map(() => no('permanent'))
  source.commit(message(7))
  await until('the failure', () => lines.some(([name]) => name === 'error'))
  expect(lines[0]).toEqual(['info', { relay: 'test', lanes: 1, source: 'fake', publisher: 'fake' }, 'relay.started'])
  expect(lines.find(([name]) => name === 'error')).toMatchObject(['error', { seq: '7', code: 'PERMANENT' }, 'message.failed'])
})

test('all problems of the options are told at once', () => {
  const options = { source: new FakeSource(), publisher: new FakePublisher(), leaseMs: 9999, batchSize: 0, policy: { maxAttempts: 1.5 } }
  expect(() => createRelay(options)).toThrow(/batchSize is 0.*maxAttempts is 1\.5.*leaseMs is 9999: at least 10000/)
})
