// kafkajs: the naive shop's producer, and the judge's eyes. Neither shares code with what the relay and the consumer use.
import { setTimeout as pause } from 'node:timers/promises'
import { Kafka, logLevel } from 'kafkajs'
import type { NaiveProducer, TopicRecord } from './broker.ts'

export async function connectProducer(brokers: readonly string[]): Promise<NaiveProducer> {
  const client = new Kafka({
    clientId: 'naive-shop',
    brokers: [...brokers],
    logLevel: logLevel.NOTHING,
    connectionTimeout: 1_000,
    requestTimeout: 1_000,
    retry: { retries: 0 },
  })
  const producer = client.producer({ allowAutoTopicCreation: false })
  for (let tries = 1; ; tries++) {
    try {
      await producer.connect()
      break
    } catch (error) {
      if (tries === 20) throw error
      await pause(200)
    }
  }
  return {
    send: async ({ topic, key, value }) => void (await producer.send({ topic, acks: -1, messages: [{ key, value }] })),
  }
}

/** All of a topic up to the offsets that it ends with now. */
export async function readAll(brokers: readonly string[], topic: string): Promise<TopicRecord[]> {
  const client = new Kafka({ clientId: 'judge', brokers: [...brokers], logLevel: logLevel.NOTHING })
  const admin = client.admin()
  const consumer = client.consumer({ groupId: `judge-${topic}-${process.pid}` })
  try {
    await admin.connect()
    const ends = new Map((await admin.fetchTopicOffsets(topic)).map(({ partition, high }) => [partition, BigInt(high)]))
    const records = new Map<number, TopicRecord[]>([...ends.keys()].map((partition) => [partition, []]))
    const missing = new Set([...ends].filter(([, high]) => high > 0n).map(([partition]) => partition))
    if (missing.size > 0) {
      const done = Promise.withResolvers<void>()
      await consumer.connect()
      await consumer.subscribe({ topics: [topic], fromBeginning: true })
      await consumer.run({
        autoCommit: false,
        eachMessage: async ({ partition, message }) => {
          const { key, value, offset } = message
          if (BigInt(offset) >= (ends.get(partition) ?? 0n)) return
          records
            .get(partition)
            ?.push({ partition, key: key?.toString() ?? null, value: value ?? Buffer.alloc(0), headers: headersOf(message) })
          if (BigInt(offset) === (ends.get(partition) ?? 0n) - 1n) missing.delete(partition)
          if (missing.size === 0) done.resolve()
        },
      })
      await done.promise
    }
    return [...records.values()].flat()
  } finally {
    await consumer.disconnect().catch(() => undefined)
    await admin.disconnect().catch(() => undefined)
  }
}

function headersOf({
  headers = {},
}: {
  readonly headers?: Readonly<Record<string, Buffer | string | (Buffer | string)[] | undefined>>
}): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(Array.isArray(value) ? value[0] : value)]))
}
