// The kinds of transactions that an application has. Each raises the counter of a key under the lock of its row, then writes the event.
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Client } from 'pg'
import { createOutbox } from '../src/write/index.ts'
import { copyFrom } from '../test/acceptance/source-copy.ts'
import type { Random } from './random.ts'
import { eventsIn, keys, place, raise } from './shop.ts'

export type Ending = 'commit' | 'rollback' | 'prepare'

interface Kind {
  readonly name: string
  readonly share: number
  readonly ending?: Ending
  /** @returns nothing is committed before this resolves */
  run(client: Client, shop: Shop): Promise<void>
}

export interface Shop {
  readonly random: Random
  readonly topic: string
  readonly outbox: ReturnType<typeof outboxOf>
}

export const outboxOf = (topic: string) => createOutbox({ events: eventsIn(topic) })

/** Some keys are hot. */
const someKey = (random: Random): string => keys[Math.floor(random.next() ** 2 * keys.length)]!

async function one(client: Client, { outbox, random }: Shop, key = someKey(random)): Promise<void> {
  const n = await raised(client, key)
  const { id } = await outbox.write(client, 'Placed', { key, n })
  await client.query(place, [id, key, n])
}

async function raised(client: Client, key: string): Promise<string> {
  const { rows } = await client.query<{ n: string }>(raise, [key])
  return rows[0]!.n
}

const kinds: readonly Kind[] = [
  { name: 'single', share: 45, run: one },
  {
    name: 'several',
    share: 22,
    async run(client, shop) {
      const { random, outbox } = shop
      // In the order of their names: two transactions that lock the same ones wait, and don't lock each other out.
      const chosen = [...new Set([someKey(random), someKey(random)])].toSorted()
      const payloads: { key: string; n: string }[] = []
      for (const key of chosen) {
        for (let events = random.between(1, 4); events >= 1; events--) payloads.push({ key, n: await raised(client, key) })
      }
      const { ids } = await outbox.writeMany(
        client,
        payloads.map((payload) => ({ type: 'Placed', payload })),
      )
      for (const [i, id] of ids.entries()) await client.query(place, [id, payloads[i]!.key, payloads[i]!.n])
    },
  },
  { name: 'rolled back', share: 10, ending: 'rollback', run: one },
  {
    name: 'savepoint',
    share: 8,
    async run(client, shop) {
      const key = someKey(shop.random)
      await client.query('savepoint attempt')
      await one(client, shop, key)
      await client.query('rollback to savepoint attempt')
      await one(client, shop, key)
    },
  },
  {
    name: 'copy',
    share: 8,
    async run(client, { random, topic }) {
      const key = someKey(random)
      const n = await raised(client, key)
      const id = randomUUID()
      await copyFrom(
        client,
        'copy outrider.outbox (id, aggregate_type, aggregate_id, event_type, payload, topic) from stdin',
        `${id}\taccount\t${key}\tPlaced\t${JSON.stringify({ key, n })}\t${topic}\n`,
      )
      await client.query(place, [id, key, n])
    },
  },
  { name: 'prepared', share: 4, ending: 'prepare', run: one },
  {
    name: 'slow',
    share: 2,
    async run(client, shop) {
      await one(client, shop)
      await pause(shop.random.between(5, 60))
    },
  },
  {
    name: 'long',
    share: 0.4,
    async run(client, shop) {
      await one(client, shop)
      await pause(shop.random.between(500, 2_500))
    },
  },
]
const total = kinds.reduce((sum, { share }) => sum + share, 0)

export function someKind({ random }: Shop): Kind {
  let left = random.next() * total
  for (const kind of kinds) if ((left -= kind.share) < 0) return kind
  return kinds[0]!
}
