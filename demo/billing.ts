// The consumer: it bills each order. Beside it, one without an inbox reads the naive shop's topic and bills what it sees.
import type { PoolClient } from 'pg'
import { createInbox } from '../src/inbox/index.ts'
import { clientsFor } from './brokers/clients.ts'
import type { TopicRecord } from './brokers/broker.ts'
import { openPool } from './counter.ts'
import { eventsIn, type OrderPlaced } from './events.ts'
import { insertBill, type Side } from './queries.ts'
import { role, type BillingTalk } from './talk.ts'

/** Every so-manieth record is delivered twice, when asked for. */
const everyRecord = 10

let isTwice = false
const { task, tell } = role<BillingTalk>(() => (isTwice = true))
const pool = openPool(task.databaseUrl)
const inbox = createInbox({ consumer: 'billing', events: eventsIn(task.topics.outrider) })
const clients = await clientsFor(task.broker)
const never = new AbortController().signal

await Promise.all([consume('outrider', billOnce), consume('naive', billBlindly)])

/** Hands each record over; from the conductor's word on every tenth a second time, those of the past included. */
async function consume(
  side: Side,
  handle: (record: TopicRecord) => Promise<{ id: string; outcome: 'billed' | 'duplicate' }>,
): Promise<void> {
  const past: TopicRecord[] = []
  const handled = async (record: TopicRecord, times: 1 | 2): Promise<void> =>
    tell({ is: 'handled', side, times, ...(await handle(record)) })
  for await (const record of clients.follow(task.topics[side], never)) {
    await handled(record, 1)
    past.push(record)
    if (!isTwice || past.length % everyRecord !== 0) continue
    for (const [i, earlier] of past.entries()) if ((i + 1) % everyRecord === 0) await handled(earlier, 2)
    past.length = 0
  }
}

async function billOnce(record: TopicRecord): Promise<{ id: string; outcome: 'billed' | 'duplicate' }> {
  const message = inbox.read(record)
  if (message.type !== 'OrderPlaced') throw new Error(`The topic holds a message that billing doesn't know: ${message.type}.`)
  const order = message.payload
  const { status } = await inTransaction((tx) => inbox.once(tx, message, () => bill(tx, 'outrider', order)))
  return { id: order.orderId, outcome: status === 'processed' ? 'billed' : 'duplicate' }
}

async function billBlindly(record: TopicRecord): Promise<{ id: string; outcome: 'billed' }> {
  const order = JSON.parse(record.value.toString()) as OrderPlaced
  await inTransaction((tx) => bill(tx, 'naive', order))
  return { id: order.orderId, outcome: 'billed' }
}

async function bill(tx: PoolClient, side: Side, { orderId, client, total }: OrderPlaced): Promise<void> {
  await tx.query(insertBill(side), [orderId, client, total])
}

/** When the session is lost, what is not known to be done is done again: that is what the inbox is for. */
async function inTransaction<T>(act: (tx: PoolClient) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      const tx = await pool.connect()
      let isSound = false
      try {
        await tx.query('begin')
        const value = await act(tx)
        await tx.query('commit')
        isSound = true
        return value
      } finally {
        tx.release(!isSound)
      }
    } catch (error) {
      if (tries === 20) throw error
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
}
