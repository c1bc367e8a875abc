// The cases for publishers on a real Kafka behind a proxy: Outrider's own publisher, and one through a producer of kafkajs.
import { Kafka, logLevel, Partitioners } from 'kafkajs'
import { describe, expect, test } from 'vitest'
import { createWire } from '../../src/brokers/kafka/driver.ts'
import { kafka } from '../../src/brokers/kafka/index.ts'
import { systemClock } from '../../src/brokers/kafka/kafka.ts'
import { settingsOf } from '../../src/brokers/kafka/options.ts'
import { createKafkaPublisher } from '../../src/brokers/kafka/publisher.ts'
import type { Publisher } from '../../src/core/index.ts'
import { selectCases } from '../../src/testing/conformance/case.ts'
import { publisherCases } from '../../src/testing/conformance/publisher-cases.ts'
import type { PublisherHarness } from '../../src/testing/conformance/publisher-harness.ts'
import { startProxy } from '../../src/testing/index.ts'
import { createTestTopic, describeKafka, kafkaBrokers } from '../setup/index.ts'
import { readTopic } from './kafka-topic.ts'

const publishTimeoutMs = 3_000

const own: PublisherHarness = {
  can: ['batchOrder', 'fence', 'manyRelays', 'refusal', 'silence', 'lateBytes'],
  async create() {
    const brokers = await kafkaBrokers()
    const topic = await createTestTopic({ configs: { 'max.message.bytes': '50000' } })
    const [host = '', port = ''] = (brokers[0] ?? '').split(':')
    const proxy = await startProxy({ host, port: Number(port) })
    let isPast = false
    return {
      topic,
      publisher() {
        const settings = settingsOf({ brokers, publishTimeoutMs, connectTimeoutMs: 2_000 })
        const wire = createWire({ ...settings, requestTimeoutMs: publishTimeoutMs + 1_000 }, (address) => (isPast ? address : proxy))
        return createKafkaPublisher(settings, wire, systemClock)
      },
      records: () => recordsOf(brokers, topic),
      refusable: (message) => ({ ...message, payload: Buffer.alloc(60_000) }),
      silence: async () => proxy.set('blackHole'),
      async speak() {
        proxy.set('pass')
        proxy.reset()
      },
      delay: async () => proxy.set('hold'),
      pass: async () => void (isPast = true),
      land: () => proxy.release(),
      close: () => proxy.close(),
    }
  },
}

const kafkajs: PublisherHarness = {
  can: ['manyRelays', 'refusal'],
  async create() {
    const brokers = await kafkaBrokers()
    const topic = await createTestTopic({ configs: { 'max.message.bytes': '50000' } })
    const closing: (() => Promise<void>)[] = []
    return {
      topic,
      publisher(): Publisher {
        const client = new Kafka({ brokers, logLevel: logLevel.NOTHING, retry: { retries: 0 } })
        const producer = client.producer({ createPartitioner: Partitioners.DefaultPartitioner, allowAutoTopicCreation: false })
        closing.push(() => producer.disconnect())
        return kafka({ producer, publishTimeoutMs })
      },
      records: () => recordsOf(brokers, topic),
      refusable: (message) => ({ ...message, payload: Buffer.alloc(60_000) }),
      async close() {
        for (const close of closing) await close()
      },
    }
  },
}

async function recordsOf(brokers: readonly string[], topic: string) {
  return (await readTopic(brokers, topic)).map(({ key, value, headers }) => ({
    eventId: headers.find(([name]) => name === 'eventId')?.[1]?.toString() ?? null,
    key: key?.toString() ?? null,
    value,
  }))
}

describeKafka('on a real Kafka', () => {
  describe("Outrider's own publisher", () => {
    const { run, skipped } = selectCases(publisherCases, own)
    test.each(run)('$name', (one) => one.run(own))
    test('runs every case', () => expect(skipped).toEqual([]))
  })
  describe('a producer of kafkajs', () => {
    const { run } = selectCases(publisherCases, kafkajs)
    test.each(run)('$name', (one) => one.run(kafkajs))
  })
})
