// The judge takes no part: it reads the shops' tables, the topics from offset 0 and the consumer's own table, and compares.
import type { Client } from 'pg'
import { checkDelivery, type CommittedMessage, type DeliveredRecord } from '../src/testing/checker.ts'
import { clientsFor } from './brokers/clients.ts'
import type { BrokerClients, TopicRecord } from './brokers/broker.ts'
import { withClient } from './database.ts'
import type { OrderPlaced } from './events.ts'
import { bills, orders, type Side } from './queries.ts'
import { role, type JudgeTalk, type SideFigures } from './talk.ts'

interface OrderRow {
  readonly id: string
  readonly client: string
  readonly n: number
  readonly item: string
  readonly note: string | null
  readonly total: string
}

const { task, tell } = role<JudgeTalk>(() => undefined)
const clients = await clientsFor(task.broker)
const outrider = await judge(clients, 'outrider')
const naive = await judge(clients, 'naive')
await tell({ is: 'figures', outrider, naive })
process.exit()

async function judge({ readAll }: BrokerClients, side: Side): Promise<SideFigures> {
  const records = (await readAll(task.topics[side])).map(delivered)
  return withClient(task.databaseUrl, async (client) => {
    const committed = (await client.query<OrderRow>(orders(side))).rows.map(expected)
    const figures = checkDelivery(committed, records)
    return { ...figures, ...(await billed(client, side, new Set(committed.map(({ id }) => id)))) }
  })
}

/** Each record must say what the table says, to the last byte of the last note. */
function expected({ id, client, n, item, note, total }: OrderRow): CommittedMessage {
  return { id, key: client, n, content: contentOf({ orderId: id, client, n, item, note, total }) }
}

function delivered({ partition, key, value }: TopicRecord): DeliveredRecord {
  const order = JSON.parse(value.toString()) as OrderPlaced
  return { id: order.orderId, key, partition, content: contentOf(order) }
}

function contentOf({ orderId, client, n, item, note, total }: OrderPlaced): string {
  return JSON.stringify([orderId, client, n, item, note, total])
}

async function billed(client: Client, side: Side, committed: ReadonlySet<string>): Promise<{ handled: number; billedTwice: number }> {
  const { rows } = await client.query<{ id: string; times: number }>(bills(side))
  return {
    handled: rows.filter(({ id }) => committed.has(id)).length,
    billedTwice: rows.filter(({ times }) => times > 1).length,
  }
}
