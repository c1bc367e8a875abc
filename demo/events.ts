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

/** @param topic one of its own for each run of the demo, as the broker may be somebody's */
export function eventsIn(topic: string) {
  return defineEvents({
    OrderPlaced: event<OrderPlaced>({ aggregate: 'order', key: (order) => order.client, topic }),
  })
}
