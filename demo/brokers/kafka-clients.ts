// Kafka as the roles see it. The consumer is @platformatic/kafka; the naive producer and the judge's client are kafkajs.
import { setTimeout as pause } from 'node:timers/promises'
import { Consumer } from '@platformatic/kafka'
import { Kafka, logLevel } from 'kafkajs'
import { kafka } from '../../src/brokers/kafka/index.ts'
import type { BrokerClients, TopicRecord } from './broker.ts'

export function kafkaClients(brokers: readonly string[]): BrokerClients {
  return {
    publisher: (publishTimeoutMs) => kafka({ brokers, publishTimeoutMs, connectTimeoutMs: publishTimeoutMs }),
    producer() {
      const client = new Kafka({
        clientId: 'naive-shop',
        brokers: [...brokers],
        logLevel: logLevel.NOTHING,
        connectionTimeout: 1_000,
        requestTimeout: 1_000,
        retry: { retries: 0 },
      })
      const producer = client.producer({ allowAutoTopicCreation: false })
      let connected: Promise<void> | null = null
      return {
        async send({ topic, key, value }) {
          connected ??= producer.connect()
          await connected.catch((error: unknown) => {
            connected = null
            throw error
          })
          await producer.send({ topic, acks: -1, messages: [{ key, value }] })
        },
        close: () => producer.disconnect(),
      }
    },
    follow: (topic, signal) => follow(brokers, topic, signal),
    readAll: (topic) => readAll(brokers, topic),
  }
}

/** Goes on after an outage where it was: a new consumer, from the offsets that were reached. */
async function* follow(brokers: readonly string[], topic: string, signal: AbortSignal): AsyncIterable<TopicRecord> {
  const next = new Map<number, bigint>()
  while (!signal.aborted) {
    const consumer = new Consumer({
      groupId: `billing-${topic}-${process.pid}-${performance.now()}`,
      clientId: 'billing',
      bootstrapBrokers: [...brokers],
      maxWaitTime: 100,
      retries: 0,
      connectTimeout: 1_000,
      timeout: 3_000,
    })
    const end = (): void => void consumer.close(true).catch(() => undefined)
    signal.addEventListener('abort', end)
    try {
      const { topics } = await consumer.metadata({ topics: [topic] })
      const partitions = topics.get(topic)?.partitionsCount ?? 0
      const offsets = Array.from({ length: partitions }, (_, partition) => ({ topic, partition, offset: next.get(partition) ?? 0n }))
      const stream = await consumer.consume({ topics: [topic], mode: 'manual', offsets, autocommit: false })
      for await (const { partition, offset, key, value, headers } of stream) {
        yield { partition, key: key?.toString() ?? null, value: value ?? Buffer.alloc(0), headers: textOfHeaders(headers) }
        next.set(partition, offset + 1n)
      }
    } catch {
      // The broker is away. It is asked again in a moment, for as long as the demo goes on.
    } finally {
      signal.removeEventListener('abort', end)
      await consumer.close(true).catch(() => undefined)
    }
    await pause(200, undefined, { signal }).catch(() => undefined)
  }
}

function textOfHeaders(headers: ReadonlyMap<Buffer, Buffer>): Record<string, string> {
  return Object.fromEntries([...headers].map(([name, value]) => [name.toString(), value.toString()]))
}

async function readAll(brokers: readonly string[], topic: string): Promise<TopicRecord[]> {
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
