import { createTopicOn, deleteTopicsOn } from '../../servers/kafka-topics.ts'
import { startKafka } from '../../servers/kafka.ts'
import type { DemoBroker } from './broker.ts'

/** Partitions of each of the demo's topics. */
export const partitions = 3

/** A Kafka of the demo's own: Java runs it, Maven fetched it. */
export async function startOwnKafka(): Promise<DemoBroker> {
  const cluster = await startKafka()
  const [node] = cluster.nodes
  if (node === undefined) throw new Error('Kafka was started without a node.')
  return {
    title: `real Kafka ${cluster.version}`,
    address: { kind: 'kafka', brokers: cluster.brokers },
    outage: { stop: () => node.stop(), start: () => node.start(), startMs: 3_500 },
    createTopics: async (names) => void (await Promise.all(names.map((name) => cluster.createTopic(name, { partitions })))),
    close: () => cluster.close(),
  }
}

/** A Kafka that somebody else runs. It is never stopped, and the demo's topics are taken away again. */
export function existingKafka(brokers: readonly string[]): DemoBroker {
  let made: readonly string[] = []
  return {
    title: `the Kafka at ${brokers.join(', ')}`,
    address: { kind: 'kafka', brokers },
    outage: null,
    async createTopics(names) {
      made = names
      for (const name of names) await createTopicOn(brokers, name, { partitions })
    },
    async close() {
      const names = made
      made = []
      if (names.length > 0) await deleteTopicsOn(brokers, names)
    },
  }
}
