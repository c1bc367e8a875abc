// The order service with Outrider: the order and its event are written in one transaction. That is all it does about events.
import { createOutbox } from '../src/write/index.ts'
import { Door, openPool, takeOrders, transaction, work } from './counter.ts'
import { eventsIn } from './events.ts'
import type { Order } from './orders.ts'
import { insertOrder, nextOrderOfClient } from './queries.ts'
import { role, type CaughtAt, type ShopTalk } from './talk.ts'

const door = new Door()
const toCatch = new Set<CaughtAt>()
const { task, tell } = role<ShopTalk>((message) => {
  if (message.do === 'open') door.open(message)
  else if (message.do === 'go on') door.goOn(message.upTo)
  else for (const at of ['before COMMIT', 'after COMMIT'] as const) toCatch.add(at)
})
const pool = openPool(task.databaseUrl)
const outbox = createOutbox({ events: eventsIn(task.topics.outrider) })

await tell({ is: 'ready' })
await takeOrders(task, door, pool, 'outrider', place)
await tell({ is: 'done' })

async function place(order: Order): Promise<void> {
  const { id, client, item, note, total } = order
  const outcome = await transaction(pool, 'outrider', order, async (tx) => {
    const found = await tx.query<{ n: number }>(nextOrderOfClient('outrider'), [client])
    const n = found.rows[0]?.n ?? 0
    await tx.query(insertOrder('outrider'), [id, client, n, item, note, total])
    await work(order, 1, 60)
    await outbox.write(tx, 'OrderPlaced', { orderId: id, client, n, item, note, total })
    await work(order, 2, 120)
    await stopIfAsked('before COMMIT', order)
  })
  await stopIfAsked('after COMMIT', order)
  outbox.kick(pool)
  await tell({ is: 'order', id, outcome })
}

/** Stands still for ever, so that the kill strikes exactly here. */
async function stopIfAsked(at: CaughtAt, { id, rollsBack }: Order): Promise<void> {
  if (rollsBack || !toCatch.delete(at)) return
  await tell({ is: 'caught', at, id })
  await new Promise(() => undefined)
}
