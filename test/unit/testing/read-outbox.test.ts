import { expect, test } from 'vitest'
import { z } from 'zod'
import { createRelay } from '../../../src/relay/index.ts'
import { createMemoryBroker, createMemoryOutbox, readOutbox } from '../../../src/testing/index.ts'
import { createOutbox, defineEvents, event } from '../../../src/write/index.ts'

const events = defineEvents({
  OrderPlaced: event({ schema: z.object({ id: z.string(), at: z.coerce.date() }), aggregate: 'order', key: (e) => e.id, topic: 'orders' }),
})
const outbox = createOutbox({ events })
const at = new Date(0)

test('a memory outbox shows its events, typed, with what became of them', async () => {
  const memory = createMemoryOutbox()
  const broker = createMemoryBroker()
  const relay = createRelay({ source: memory.source(), publisher: broker })
  await memory.transaction((tx) => outbox.write(tx, 'OrderPlaced', { id: 'o1', at }, { headers: { a: 'b' } }))
  const [entry] = await readOutbox(memory, events)
  expect(entry).toMatchObject({
    type: 'OrderPlaced',
    key: 'o1',
    topic: 'orders',
    payload: { id: 'o1', at },
    headers: { a: 'b' },
    state: 'unsent',
  })
  expect(entry?.payload.at.getTime(), 'typed by its event').toBe(0)

  broker.goDown()
  await relay.start()
  expect(await readOutbox(memory, events)).toMatchObject([{ state: 'unsent' }])
  broker.comeBack()
  await relay.drain()
  expect(await readOutbox(memory)).toMatchObject([{ state: 'sent', payload: { id: 'o1', at: at.toISOString() } }])
  expect(broker.records('orders')).toHaveLength(1)
})

test('an event that is not among those given is an error, and so is one that its schema refuses', async () => {
  const memory = createMemoryOutbox()
  await memory.transaction((tx) => outbox.write(tx, 'OrderPlaced', { id: 'o1', at }))
  await expect(readOutbox(memory, defineEvents({ Other: event<object>({ aggregate: 'x', key: null }) }))).rejects.toMatchObject({
    code: 'UNKNOWN_EVENT',
  })
  const strict = defineEvents({ OrderPlaced: event({ schema: z.object({ id: z.number() }), aggregate: 'order', key: null }) })
  await expect(readOutbox(memory, strict)).rejects.toMatchObject({
    code: 'PAYLOAD_INVALID',
    message: expect.stringContaining('payload.id'),
  })
})
