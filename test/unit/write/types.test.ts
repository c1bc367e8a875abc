// Compiled with the rest: each line below a `@ts-expect-error` must be a compile error, and nothing else may be.
import type { Client, Pool, PoolClient } from 'pg'
import { expectTypeOf, test } from 'vitest'
import * as v from 'valibot'
import { z } from 'zod'
import { createOutbox, defineEvents, event } from '../../../src/write/index.ts'

const events = defineEvents({
  OrderPlaced: event({ schema: z.object({ orderId: z.string(), total: z.coerce.number() }), aggregate: 'order', key: (e) => e.orderId }),
  OrderShipped: event({ schema: v.object({ orderId: v.string() }), aggregate: 'order', key: (e) => e.orderId, topic: 'orders' }),
  OrderCancelled: event<{ orderId: string }>({ aggregate: 'order', key: (e) => e.orderId }),
})

/** Never called: only its types matter. */
export async function writes(client: Client, pooled: PoolClient, pool: Pool): Promise<void> {
  const outbox = createOutbox({ events })
  await outbox.write(client, 'OrderPlaced', { orderId: 'x', total: '12' })
  await outbox.write(pooled, 'OrderCancelled', { orderId: 'x' }, { key: 'k', headers: { a: 'b' } })
  await outbox.writeMany(pooled, [
    { type: 'OrderPlaced', payload: { orderId: 'x', total: 1 } },
    { type: 'OrderCancelled', payload: { orderId: 'x' }, topic: 'other' },
  ])
  outbox.kick(pool)
  // @ts-expect-error a pool is no transaction
  await outbox.write(pool, 'OrderCancelled', { orderId: 'x' })
  // @ts-expect-error a pool is no transaction
  await outbox.writeMany(pool, [])
  // @ts-expect-error there is no such event
  await outbox.write(client, 'OrderPlacd', { orderId: 'x' })
  // @ts-expect-error a field is missing
  await outbox.write(client, 'OrderShipped', {})
  // @ts-expect-error a field has the wrong type
  await outbox.write(client, 'OrderCancelled', { orderId: 7 })
  // @ts-expect-error the payload of another event
  await outbox.writeMany(client, [{ type: 'OrderPlaced', payload: { orderId: 'x', tota: 1 } }])
  // @ts-expect-error headers are strings
  await outbox.write(client, 'OrderCancelled', { orderId: 'x' }, { headers: { n: 1 } })

  const ambient = createOutbox({ events, transaction: () => client })
  await ambient.write('OrderCancelled', { orderId: 'x' })
  // @ts-expect-error an ambient outbox takes no transaction
  await ambient.write(client, 'OrderCancelled', { orderId: 'x' })
}

test('the key gets the output of the schema', () => {
  event({
    schema: z.object({ n: z.coerce.number() }),
    aggregate: 'a',
    key: (e) => {
      expectTypeOf(e.n).toEqualTypeOf<number>()
      return String(e.n)
    },
  })
  // @ts-expect-error a key is text
  event<{ id: number }>({ aggregate: 'a', key: (e) => e.id })
})
