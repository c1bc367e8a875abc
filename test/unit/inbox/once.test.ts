import { expect, test } from 'vitest'
import type { Executor } from '../../../src/core/index.ts'
import { createMemoryOutbox } from '../../../src/databases/memory/index.ts'
import { createInbox } from '../../../src/inbox/index.ts'
import { createOutbox, defineEvents, event } from '../../../src/write/index.ts'

const events = defineEvents({ Billed: event<{ id: string }>({ aggregate: 'bill', key: (e) => e.id }) })
const outbox = createOutbox({ events })
const inbox = createInbox({ consumer: 'billing', events })
const message = { id: 'm1' }

test('in memory: the first is processed, the second is a duplicate, another consumer is its own', async () => {
  const memory = createMemoryOutbox()
  const handle = (consumer: string) => memory.transaction((tx) => createInbox({ consumer, events }).once(tx, message, () => 7))
  expect(await handle('a')).toEqual({ status: 'processed', value: 7 })
  expect(await handle('a')).toEqual({ status: 'duplicate' })
  expect(await handle('b')).toEqual({ status: 'processed', value: 7 })
})

test('in memory: a second one waits for the first, and takes over when it rolls back', async () => {
  const memory = createMemoryOutbox()
  const first = memory.begin()
  const second = memory.begin()
  expect(await inbox.once(first.tx, message, () => 1)).toMatchObject({ status: 'processed' })
  const waiting = inbox.once(second.tx, message, () => 2)
  first.rollback()
  expect(await waiting).toEqual({ status: 'processed', value: 2 })
  second.commit()
})

test('in memory: what a throwing function wrote is undone although the transaction commits', async () => {
  const memory = createMemoryOutbox()
  await memory.transaction(async (tx) => {
    await outbox.write(tx, 'Billed', { id: 'before' })
    const failing = inbox.once(tx, message, async () => {
      await outbox.write(tx, 'Billed', { id: 'inside' })
      throw new Error('no')
    })
    await expect(failing).rejects.toThrow('no')
    await outbox.write(tx, 'Billed', { id: 'after' })
  })
  expect(memory.entries().map((entry) => entry.message.key)).toEqual(['before', 'after'])
  expect(await memory.transaction((tx) => inbox.once(tx, message, () => 'again'))).toMatchObject({ status: 'processed' })
})

test('a message without an id and a transaction that is none are refused before anything runs', async () => {
  const memory = createMemoryOutbox()
  let ran = false
  const run = (): void => void (ran = true)
  for (const wrong of [{}, { id: '' }, { id: 7 }, null]) {
    await expect(memory.transaction((tx) => inbox.once(tx, wrong as never, run))).rejects.toMatchObject({ code: 'USAGE' })
  }
  await expect(inbox.once({}, message, run)).rejects.toMatchObject({ code: 'UNKNOWN_EXECUTOR' })
  expect(ran).toBe(false)
})

test('an executor that does not count its rows is an error, and never makes a duplicate', async () => {
  const sent: string[] = []
  const careless = {
    dialect: 'postgres',
    async query(sql: string) {
      sent.push(sql.split(' ')[0] ?? '')
      return { rows: [] }
    },
  } as unknown as Executor
  await expect(inbox.once(careless, message, () => 1)).rejects.toMatchObject({
    code: 'USAGE',
    message: expect.stringContaining('undefined rows'),
  })
  expect(sent).toEqual(['savepoint', 'insert', 'rollback', 'release'])
})

test("an executor of the caller's own runs the SQL in its transaction", async () => {
  const seen: object[] = []
  const own = createInbox({
    consumer: 'billing',
    events,
    executor: (tx) => {
      seen.push(tx)
      return { dialect: 'postgres', query: async () => ({ rows: [], rowCount: 1 }) }
    },
  })
  const tx = { mine: true }
  expect(await own.once(tx, message, () => 1)).toEqual({ status: 'processed', value: 1 })
  expect(seen).toEqual([tx])
})
