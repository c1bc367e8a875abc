// The order service without an outbox, as many are: COMMIT, then send. One order of five comes through an older part of the code, which
// sends and then commits. A send that fails is tried again; after the third time the order counts more than its event, and it is logged.
import { setTimeout as pause } from 'node:timers/promises'
import { clientsFor } from './brokers/clients.ts'
import { Door, openPool, takeOrders, transaction, work } from './counter.ts'
import type { OrderPlaced } from './events.ts'
import type { Order } from './orders.ts'
import { insertOrder, nextOrderOfClient } from './queries.ts'
import { role, type ShopTalk } from './talk.ts'

const sendTries = 3
const sendPauseMs = 300

let isToBeCaught = false
const door = new Door()
const { task, tell } = role<ShopTalk>((message) => {
  if (message.do === 'open') door.open(message)
  else if (message.do === 'go on') door.goOn(message.upTo)
  else isToBeCaught = true
})
const pool = openPool(task.databaseUrl)
const producer = await (await clientsFor(task.broker)).producer()

await tell({ is: 'ready' })
await takeOrders(task, door, pool, 'naive', place)
await tell({ is: 'done' })

async function place(order: Order): Promise<void> {
  const { id, client, item, note, total } = order
  const sendsFirst = Number(id.slice(2)) % 5 === 0
  let event: OrderPlaced | null = null
  const outcome = await transaction(pool, 'naive', order, async (tx) => {
    const found = await tx.query<{ n: number }>(nextOrderOfClient('naive'), [client])
    event = { orderId: id, client, n: found.rows[0]?.n ?? 0, item, note, total }
    await tx.query(insertOrder('naive'), [id, client, event.n, item, note, total])
    await work(order, 1, 60)
    if (sendsFirst) await send(event)
    await work(order, 2, 120)
  })
  if (isToBeCaught && !order.rollsBack && !sendsFirst) {
    isToBeCaught = false
    await tell({ is: 'caught', at: 'between COMMIT and send', id })
    await new Promise(() => undefined)
  }
  await tell({ is: 'order', id, outcome })
  if (sendsFirst || outcome === 'rolled back' || event === null) return
  await work(order, 3, 60)
  await send(event)
}

async function send(event: OrderPlaced): Promise<void> {
  const record = { topic: task.topics.naive, key: event.client, value: JSON.stringify(event) }
  for (let tries = 1; tries <= sendTries; tries++) {
    try {
      await producer.send(record)
      await tell({ is: 'sent', id: event.orderId, arrived: true })
      return
    } catch {
      if (tries < sendTries) await pause(sendPauseMs * tries)
    }
  }
  await tell({ is: 'sent', id: event.orderId, arrived: false })
}
