import { expect, test } from 'vitest'
import { createMemoryBroker } from '../../../../src/brokers/memory/index.ts'
import type { Message } from '../../../../src/core/index.ts'

function message(seq: number, key: string | null = 'a', facts: Partial<Message> = {}): Message {
  return {
    id: `id-${seq}`,
    seq: BigInt(seq),
    lane: 0,
    topic: 'orders',
    key,
    type: 'OrderPlaced',
    aggregateType: 'order',
    aggregateId: key,
    payload: new TextEncoder().encode(`{"n":${seq}}`),
    contentType: 'application/json',
    headers: { tenant: 'x' },
    createdAt: '2026-01-01T00:00:00.000000Z',
    attempt: 0,
    ...facts,
  }
}
const context = { lane: 0, signal: new AbortController().signal }

test('records keep key, value and headers, and offsets count from 0 a partition', async () => {
  const broker = createMemoryBroker({ partitions: 1 })
  const verdicts = await broker.publish([message(1), message(2, null, { payload: null })], context)
  expect(verdicts).toEqual([
    { kind: 'accepted', position: 'orders/0/0' },
    { kind: 'accepted', position: 'orders/0/1' },
  ])
  expect(broker.records('orders')).toMatchObject([
    { key: 'a', value: new TextEncoder().encode('{"n":1}'), headers: { tenant: 'x', eventId: 'id-1', eventType: 'OrderPlaced' } },
    { key: null, value: null },
  ])
})

test('what follows a refused message of its key is not stored; other keys are', async () => {
  const broker = createMemoryBroker()
  broker.script((m, tries) => (m.id === 'id-1' && tries === 0 ? 'transient' : 'ok'))
  const batch = [message(1), message(2), message(3, 'b')]
  expect((await broker.publish(batch, context)).map((v) => (v.kind === 'accepted' ? 'ok' : v.class))).toEqual([
    'transient',
    'unavailable',
    'ok',
  ])
  await broker.publish(batch.slice(0, 2), context)
  expect(broker.records().map((r) => r.headers['eventId'])).toEqual(['id-3', 'id-1', 'id-2'])
})

test('each outcome of a script gives its own verdict', async () => {
  for (const outcome of ['throttled', 'transient', 'permanent', 'unavailable'] as const) {
    const broker = createMemoryBroker()
    broker.script(() => outcome)
    expect(await broker.publish([message(1)], context)).toMatchObject([{ kind: 'refused', class: outcome }])
    expect(broker.records()).toHaveLength(0)
  }
})

test('a lost answer is unknown although the record is there', async () => {
  const broker = createMemoryBroker()
  broker.script(() => 'lose-answer')
  expect(await broker.publish([message(1)], context)).toMatchObject([{ kind: 'refused', class: 'unknown' }])
  expect(broker.records()).toHaveLength(1)
})

test('a publish that hangs ends when it is given up, or at its own deadline', async () => {
  const broker = createMemoryBroker({ publishTimeoutMs: 20 })
  broker.script((m) => (m.id === 'id-2' ? 'hang' : 'ok'))
  const stop = new AbortController()
  const hanging = broker.publish([message(1), message(2)], { lane: 0, signal: stop.signal })
  stop.abort()
  expect(await hanging).toMatchObject([{ kind: 'accepted' }, { kind: 'refused', class: 'unknown' }])
  expect(await broker.publish([message(2)], context)).toMatchObject([{ kind: 'refused', class: 'unknown' }])
})

test('late bytes land after the resend without a fence, and are refused with one', async () => {
  for (const fenced of [false, true]) {
    const broker = createMemoryBroker({ fence: fenced })
    if (broker.fence !== undefined) broker.fence.enter(0, await broker.fence.advance(0, null))
    broker.script((_, tries) => (tries === 0 ? 'land-late' : 'ok'))
    await broker.publish([message(1)], context)
    if (broker.fence !== undefined) broker.fence.enter(0, await broker.fence.advance(0, new TextEncoder().encode('0')))
    await broker.publish([message(1)], context)
    expect(broker.land(), `fence ${fenced}`).toBe(fenced ? 0 : 1)
    expect(broker.records()).toHaveLength(fenced ? 1 : 2)
  }
})

test('while it is down everything is unavailable; when it is back everything is accepted', async () => {
  const broker = createMemoryBroker()
  broker.goDown()
  expect(await broker.publish([message(1)], context)).toMatchObject([{ kind: 'refused', class: 'unavailable' }])
  await expect(broker.check()).rejects.toMatchObject({ code: 'BROKER_UNREACHABLE' })
  broker.comeBack()
  await broker.check()
  await broker.publish([message(1)], context)
  expect(await broker.received(1)).toHaveLength(1)
})

test('a held publish waits for release, or ends with its signal', async () => {
  const broker = createMemoryBroker()
  broker.hold()
  const first = broker.publish([message(1)], context)
  const stop = new AbortController()
  const second = broker.publish([message(2, 'b')], { lane: 1, signal: stop.signal })
  expect((await broker.held(2)).map((h) => h.lane)).toEqual([0, 1])
  stop.abort()
  await expect(second).rejects.toThrow('given up')
  broker.release()
  expect(await first).toMatchObject([{ kind: 'accepted' }])
})

test('a closed broker refuses, and closes twice', async () => {
  const broker = createMemoryBroker()
  broker.hold()
  const held = broker.publish([message(1)], context)
  await broker.held(1)
  await broker.close()
  await broker.close()
  await expect(held).rejects.toMatchObject({ code: 'CLOSED' })
  await expect(broker.publish([message(1)], context)).rejects.toMatchObject({ code: 'CLOSED' })
})
