// Kafka as the roles see it. Each role loads only the client that it uses.
import type { BrokerClients } from './broker.ts'

export function kafkaClients(brokers: readonly string[]): BrokerClients {
  return {
    async publisher(publishTimeoutMs) {
      const { kafka } = await import('../../src/brokers/kafka/index.ts')
      return kafka({ brokers, publishTimeoutMs, connectTimeoutMs: publishTimeoutMs })
    },
    producer: async () => (await import('./kafka-js.ts')).connectProducer(brokers),
    async *follow(topic, signal) {
      yield* (await import('./kafka-consumer.ts')).follow(brokers, topic, signal)
    },
    readAll: async (topic) => (await import('./kafka-js.ts')).readAll(brokers, topic),
  }
}
