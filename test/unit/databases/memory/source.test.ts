import { expect, test } from 'vitest'
import type { Message, OutboxRow, Source } from '../../../../src/core/index.ts'
import { createMemoryOutbox } from '../../../../src/databases/memory/index.ts'
import { createTestClock } from '../../../../src/testing/index.ts'

const clock = createTestClock()
let made = 0
function row(key: string | null, facts: Partial<OutboxRow> = {}): OutboxRow {
  made += 1
  const id = `00000000-0000-7000-8000-${String(made).padStart(12, '0')}`
  return {
    id,
    aggregateType: 'order',
    aggregateId: key,
    type: 'OrderPlaced',
    payload: '{}',
    headers: null,
    topic: null,
    key: null,
    ...facts,
  }
}

async function opened(source: Source, facts: { relayId?: string; maxInFlight?: number } = {}): Promise<Source> {
  await source.open({
    relayId: facts.relayId ?? 'relay-1',
    relayName: 'test',
    clock,
    report: () => {},
    batchSize: 500,
    maxInFlight: facts.maxInFlight ?? 1000,
  })
  await source.ownership.acquire({ leaseMs: 30_000, max: 100 })
  return source
}

function read(source: Source, facts: { lanes?: number; room?: number; maxBytes?: number; signal?: AbortSignal } = {}): Promise<Message[]> {
  const room = new Map(Array.from({ length: facts.lanes ?? 8 }, (_, lane) => [lane, facts.room ?? 100]))
  return source.read({ room, maxBytes: facts.maxBytes ?? 1e6, signal: facts.signal ?? new AbortController().signal })
}
const now = AbortSignal.abort()
const delivered = (messages: readonly Message[]) => messages.map((message) => ({ kind: 'delivered', message }) as const)
const types = (messages: readonly Message[]) => messages.map((message) => message.type)

test('a committed event is handed out once, a rolled-back one never', async () => {
  const outbox = createMemoryOutbox()
  const source = await opened(outbox.source())
  await outbox.transaction((tx) => tx.insert([row('a')]))
  const failing = outbox.transaction((tx) => {
    tx.insert([row('ghost')])
    throw new Error('no')
  })
  await expect(failing).rejects.toThrow('no')
  expect((await read(source)).map((m) => m.key)).toEqual(['a'])
  expect(await read(source, { signal: now })).toEqual([])
})

test('a read waits until a commit, a kick or the end of its signal', async () => {
  const outbox = createMemoryOutbox()
  const source = await opened(outbox.source())
  const waiting = read(source)
  await outbox.transaction((tx) => tx.insert([row('a')]))
  expect(await waiting).toHaveLength(1)
  const kicked = read(source)
  source.kick()
  expect(await kicked).toEqual([])
  const stop = new AbortController()
  const stopped = read(source, { signal: stop.signal })
  stop.abort()
  expect(await stopped).toEqual([])
})

test('a transaction that commits late keeps its lower number and is handed out before the rest', async () => {
  const outbox = createMemoryOutbox({ lanes: 1 })
  const source = await opened(outbox.source())
  const late = outbox.begin()
  late.tx.insert([row('a', { type: 'First' })])
  await outbox.transaction((tx) => tx.insert([row('a', { type: 'Second' })]))
  expect(types(await read(source))).toEqual(['Second'])
  await outbox.transaction((tx) => tx.insert([row('a', { type: 'Third' })]))
  late.commit()
  expect(types(await read(source))).toEqual(['First', 'Third'])
})

test('only lanes with room and lanes held are read, and never more than maxInFlight above the position', async () => {
  const outbox = createMemoryOutbox({ lanes: 1 })
  const source = await opened(outbox.source(), { maxInFlight: 3 })
  await outbox.transaction((tx) => tx.insert([row('a'), row('b'), row('c'), row('d'), row('e')]))
  expect(await read(source, { room: 0, signal: now })).toEqual([])
  const first = await read(source, { room: 2 })
  expect(first).toHaveLength(2)
  const second = await read(source, { room: 2 })
  expect(second).toHaveLength(1)
  await source.settle(delivered(second))
  expect(await read(source, { signal: now }), 'the first two still hold the position').toEqual([])
  await clock.advance(1000)
  expect(await read(source, { signal: now }), 'a straggler of a second holds nobody up').toHaveLength(2)
})

test('a read ends at maxBytes, but a single larger message comes', async () => {
  const outbox = createMemoryOutbox({ lanes: 1 })
  const source = await opened(outbox.source())
  await outbox.transaction((tx) => tx.insert([row('a', { payload: 'x'.repeat(50) }), row('b'), row('c', { payload: null })]))
  expect((await read(source, { maxBytes: 10 })).map((m) => m.key)).toEqual(['a'])
  expect((await read(source, { maxBytes: 10 })).map((m) => m.payload)).toEqual([new TextEncoder().encode('{}'), null])
})

test('a lost connection forgets what was handed out: unsettled events come again, settled ones do not', async () => {
  const outbox = createMemoryOutbox({ lanes: 1 })
  const source = outbox.source()
  await opened(source)
  await outbox.transaction((tx) => tx.insert([row('a'), row('b')]))
  const [a] = await read(source)
  await source.settle(delivered(a === undefined ? [] : [a]))
  source.loseConnection()
  await expect(read(source)).rejects.toMatchObject({ code: 'SOURCE_LOST', retryable: true })
  await opened(source)
  expect((await read(source)).map((m) => m.key)).toEqual(['b'])
})

test('a take-over gives a new token and the stored fence; the old holder settles nothing', async () => {
  const outbox = createMemoryOutbox({ lanes: 1 })
  const first = await opened(outbox.source())
  const second = await opened(outbox.source(), { relayId: 'relay-2' })
  await outbox.transaction((tx) => tx.insert([row('a')]))
  const messages = await read(first)
  expect(await first.storeFence(0, new Uint8Array([7]))).toBe(true)
  outbox.takeOver(0)
  const [grant] = await second.ownership.acquire({ leaseMs: 30_000, max: 1 })
  expect(grant).toEqual({ lane: 0, token: 3n, fence: new Uint8Array([7]) })
  expect(await first.settle(delivered(messages))).toEqual({ lost: [0] })
  expect(await first.storeFence(0, new Uint8Array([8]))).toBe(false)
  expect(outbox.entries()[0]?.state).toBe('unsent')
  await second.settle(delivered(await read(second)))
  expect(outbox.entries()[0]?.state).toBe('sent')
})

test('a lease that ran out is free, a renewed one is not', async () => {
  const leaseClock = createTestClock()
  const outbox = createMemoryOutbox({ lanes: 2, clock: leaseClock })
  const first = await opened(outbox.source())
  const second = await opened(outbox.source(), { relayId: 'relay-2' })
  await leaseClock.advance(29_000)
  await first.ownership.renew({ leaseMs: 30_000 })
  await leaseClock.advance(29_000)
  expect(await second.ownership.acquire({ leaseMs: 30_000, max: 9 })).toEqual([])
  await first.ownership.release([1])
  expect((await second.ownership.acquire({ leaseMs: 30_000, max: 9 })).map((g) => g.lane)).toEqual([1])
  await leaseClock.advance(1000)
  expect((await second.ownership.acquire({ leaseMs: 30_000, max: 9 })).map((g) => g.lane)).toEqual([0])
  expect(await first.ownership.renew({ leaseMs: 30_000 })).toEqual({ lost: [0] })
})

test('the lag is the number of unsettled events and the age of the oldest', async () => {
  const lagClock = createTestClock()
  const outbox = createMemoryOutbox({ clock: lagClock })
  const source = await opened(outbox.source())
  expect(await source.lag()).toEqual({ backlog: 0, oldestMs: 0 })
  await outbox.transaction((tx) => tx.insert([row('a'), row(null)]))
  await lagClock.advance(1500)
  expect(await source.lag()).toEqual({ backlog: 2, oldestMs: 1500 })
  await source.settle(delivered(await read(source)))
  await outbox.settled()
  expect(await source.lag()).toEqual({ backlog: 0, oldestMs: 0 })
})

test('close ends a read that waits, may be called twice and before open', async () => {
  const source = await opened(createMemoryOutbox().source())
  const waiting = read(source)
  await source.close()
  expect(await waiting).toEqual([])
  await source.close()
  await expect(read(source)).rejects.toMatchObject({ code: 'CLOSED' })
  await createMemoryOutbox().source().close()
})
