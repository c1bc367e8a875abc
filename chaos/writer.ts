// The application: many sessions with all kinds of transactions, at a steady rate, through every outage of the database.
import { setTimeout as pause } from 'node:timers/promises'
import type { Client } from 'pg'
import { createRandom } from './random.ts'
import { ownRole } from './role.ts'
import { isOutage, preparedHere, reconnect } from './shop.ts'
import type { WriterTalk } from './talk.ts'
import { outboxOf, someKind, type Shop } from './transactions.ts'

const isStopping = new AbortController()
const { task, tell } = ownRole<WriterTalk>(() => isStopping.abort())
const counts = { transactions: 0, kinds: {} as Record<string, number> }
const outbox = outboxOf(task.topic)

const reporting = setInterval(() => void tell({ is: 'written', ...counts }), 250)
try {
  await Promise.all(Array.from({ length: task.writers }, (_, number) => write(number)))
  await finishPrepared()
  await tell({ is: 'written', ...counts })
  await tell({ is: 'stopped' })
} catch (error) {
  await tell({ is: 'failed', text: error instanceof Error ? (error.stack ?? error.message) : String(error) })
}
clearInterval(reporting)
process.disconnect()

async function write(number: number): Promise<void> {
  const shop: Shop = { random: createRandom(task.seed, `writer ${number}`), topic: task.topic, outbox }
  const everyMs = (1_000 * task.writers) / task.perSecond
  let client = await reconnect(task.databaseUrl)
  let dueMs = performance.now() + (everyMs * number) / task.writers
  for (let turn = 0; !isStopping.signal.aborted; turn++) {
    const name = `chaos-${number}-${turn}`
    await pause(Math.max(0, dueMs - performance.now()))
    // After an outage it goes on at its rate; what was missed isn't made up for at once.
    dueMs = Math.max(dueMs + everyMs, performance.now() - 4 * everyMs)
    try {
      await transaction(client, shop, name)
    } catch (error) {
      if (!isOutage(error)) throw error
      await client.end().catch(() => undefined)
      client = await reconnect(task.databaseUrl)
      await endPrepared(client, name)
    }
  }
  await client.end().catch(() => undefined)
}

async function transaction(client: Client, shop: Shop, name: string): Promise<void> {
  const kind = someKind(shop)
  const { ending = 'commit' } = kind
  await client.query('begin')
  await kind.run(client, shop)
  if (ending === 'prepare') {
    await client.query(`prepare transaction '${name}'`)
    await pause(shop.random.between(0, 300))
    await client.query(`${shop.random.chance(0.8) ? 'commit' : 'rollback'} prepared '${name}'`)
  } else {
    await client.query(ending)
  }
  counts.kinds[kind.name] = (counts.kinds[kind.name] ?? 0) + 1
  counts.transactions++
}

/** A transaction that was prepared before its session was lost keeps its locks for ever, unless somebody ends it. */
async function endPrepared(client: Client, name: string): Promise<void> {
  await client.query(`commit prepared '${name}'`).catch((error: unknown) => {
    const wasNot = error instanceof Error && 'code' in error && error.code === '42704'
    if (!wasNot && !isOutage(error)) throw error
  })
}

/** Those for which the session was lost once more. */
async function finishPrepared(): Promise<void> {
  const client = await reconnect(task.databaseUrl)
  const { rows } = await client.query<{ gid: string }>(preparedHere)
  for (const { gid } of rows) await endPrepared(client, gid)
  await client.end()
}
