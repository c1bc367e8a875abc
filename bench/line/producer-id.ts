import { initProducerIdV5, type Connection } from '@platformatic/kafka'

/** A broker that has just started gives no id for a moment. */
export async function newProducerId(broker: Connection): Promise<bigint> {
  for (let tries = 0; ; tries++) {
    try {
      return (await initProducerIdV5.api.async(broker, null, 60_000, -1n, -1)).producerId
    } catch (error) {
      if (tries === 100) throw error
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
}
