// The events of the demo's shop, shared by the shop that writes them and the billing service that reads them.
import { defineEvents, event } from '../src/write/index.ts'

/** The whole order stands in the event: whoever reads it needs to ask nobody. */
export interface OrderPlaced {
  readonly orderId: string
  readonly client: string
  /** The client's how-manieth order: raised under the lock of the client's row, so it is the true order of a client's events. */
  readonly n: number
  readonly item: string
  readonly note: string | null
  /** A decimal of any size, therefore a text. */
  readonly total: string
}

export const topics = { outrider: 'demo-orders', naive: 'demo-orders-naive' } as const

export const events = defineEvents({
  OrderPlaced: event<OrderPlaced>({ aggregate: 'order', key: (order) => order.client, topic: topics.outrider }),
})
