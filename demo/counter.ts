// What both shops share: when an order comes in, how long work takes, and how a transaction survives the loss of its session.
import { setTimeout as pause } from 'node:timers/promises'
import { Pool, type PoolClient } from 'pg'
import { readOrders, type Order } from './orders.ts'
import { orderExists, orderIds, type Side } from './queries.ts'
import type { Opening, ShopTask } from './talk.ts'

/** Orders that come in at the same moment. */
const together = 4
/** Tries of an order whose session was lost. */
const mostTries = 20

export type Outcome = 'committed' | 'rolled back'

/** Opens the shop's pool. A session that is lost ends no process: whoever uses it is told by its query. */
export function openPool(databaseUrl: string): Pool {
  const pool = new Pool({ connectionString: databaseUrl, max: 12 })
  pool.on('error', ignore)
  // For as long as the session lives: the server's last word may come when nobody uses it any more.
  pool.on('connect', (client) => client.on('error', ignore))
  return pool
}

/** The shop's door: closed until the conductor opens it, and again for the orders that it holds back. */
export class Door {
  readonly #opened = Promise.withResolvers<Opening>()
  #upTo = 0
  #letGoOn: () => void = () => undefined

  readonly opening = this.#opened.promise

  open(opening: Opening): void {
    this.#opened.resolve(opening)
    this.goOn(opening.upTo)
  }

  goOn(upTo: number): void {
    this.#upTo = upTo
    this.#letGoOn()
  }

  async pass(place: number): Promise<void> {
    while (place >= this.#upTo) await new Promise<void>((resolve) => (this.#letGoOn = resolve))
  }
}

/**
 * Each order at its time, whether or not those before it are done: as requests come to a service. Leaves out those that are done already.
 * Resolves when all are done.
 */
export async function takeOrders(task: ShopTask, door: Door, pool: Pool, side: Side, take: (order: Order) => Promise<void>): Promise<void> {
  const all = await readOrders()
  const { firstAtMs, rolledBack } = await door.opening
  const known = await retried(async () => (await pool.query<{ id: string }>(orderIds(side))).rows)
  const done = new Set([...known.map(({ id }) => id), ...rolledBack])
  const open: Promise<void>[] = []
  for (const [place, order] of all.entries()) {
    if (done.has(order.id)) continue
    await door.pass(place)
    const leftMs = firstAtMs + Math.floor(place / together) * together * task.paceMs - Date.now()
    if (leftMs > 0) await pause(leftMs)
    open.push(take(order))
  }
  await Promise.all(open)
}

/**
 * Runs `act` in a transaction. When the session is lost, it looks whether the order is there: if so, COMMIT was done and its answer was lost;
 * if not, the order is tried again.
 */
export async function transaction(pool: Pool, side: Side, order: Order, act: (client: PoolClient) => Promise<void>): Promise<Outcome> {
  for (let tries = 1; ; tries++) {
    try {
      if (tries > 1 && ((await pool.query(orderExists(side), [order.id])).rowCount ?? 0) > 0) return 'committed'
      return await attempt(pool, order, act)
    } catch (error) {
      if (tries === mostTries) throw error
      await pause(100)
    }
  }
}

async function attempt(pool: Pool, order: Order, act: (client: PoolClient) => Promise<void>): Promise<Outcome> {
  const client = await pool.connect()
  let isSound = false
  try {
    await client.query('begin')
    await act(client)
    await client.query(order.rollsBack ? 'rollback' : 'commit')
    isSound = true
    return order.rollsBack ? 'rolled back' : 'committed'
  } finally {
    client.release(!isSound)
  }
}

/** Work of a real service: a different time each time, the same in each run. */
export function work(order: Order, step: number, longestMs: number): Promise<void> {
  const seed = (Number(order.id.slice(2)) * 7_919 + step * 104_729) % 1_009
  return pause((seed / 1_009) * longestMs)
}

async function retried<T>(act: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await act()
    } catch (error) {
      if (tries === mostTries) throw error
      await pause(100)
    }
  }
}

function ignore(): void {}
