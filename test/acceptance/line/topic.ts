import type { DeliveredRecord } from '../../../src/testing/checker.ts'
import { readTopic } from '../../conformance/kafka-topic.ts'

/** The topic from its first offset, as the checker takes it. */
export async function delivered(brokers: readonly string[], topic: string): Promise<DeliveredRecord[]> {
  return (await readTopic(brokers, topic)).map((record) => ({
    id: record.headers.find(([name]) => name === 'eventId')?.[1]?.toString() ?? '',
    key: record.key?.toString() ?? null,
    partition: record.partition,
  }))
}
