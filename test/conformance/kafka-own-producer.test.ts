// Publishing through a producer of the user's own, with the real libraries on a real Kafka.
import { compatibilityPartitioner, Producer } from '@platformatic/kafka'
import { Kafka, logLevel, Partitioners } from 'kafkajs'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { kafka, partitionFor } from '../../src/brokers/kafka/index.ts'
import type { OwnProducer, OwnProducerOptions } from '../../src/brokers/kafka/index.ts'
import type { Message, Publisher, Verdict } from '../../src/core/index.ts'
import { startProxy } from '../../src/testing/proxy.ts'
import { createTestTopic, describeKafka, kafkaBrokers } from '../setup/index.ts'
import { outcomes } from './kafka-lane.ts'
import { messageOf, messagesOf, readTopic } from './kafka-topic.ts'

let brokers: string[] = []
const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

const makers: Readonly<Record<string, (at: string[]) => OwnProducer>> = {
  kafkajs(at) {
    const client = new Kafka({
      brokers: at,
      logLevel: logLevel.NOTHING,
      retry: { retries: 0 },
      connectionTimeout: 1_000,
      requestTimeout: 1_000,
    })
    const producer = client.producer({
      createPartitioner: Partitioners.DefaultPartitioner,
      allowAutoTopicCreation: false,
      retry: { retries: 1 },
    })
    closing.push(() => producer.disconnect())
    return producer
  },
  '@platformatic/kafka'(at) {
    const producer = new Producer({
      clientId: 'own',
      bootstrapBrokers: at,
      idempotent: true,
      acks: -1,
      producerId: -1n,
      producerEpoch: -1,
      retries: 1,
      retryDelay: 50,
      timeout: 1_000,
      requestTimeout: 1_000,
      connectTimeout: 1_000,
      partitioner: compatibilityPartitioner,
      autocreateTopics: false,
    })
    closing.push(() => producer.close())
    return producer
  },
}

function open(make: (at: string[]) => OwnProducer, options: Omit<OwnProducerOptions, 'producer'> = {}, at = brokers): Publisher {
  return kafka({ producer: make(at), publishTimeoutMs: 20_000, ...options })
}

const publish = (publisher: Publisher, batch: readonly Message[]): Promise<Verdict[]> =>
  publisher.publish(batch, { lane: 0, signal: new AbortController().signal })

describeKafka("a producer of the user's own", () => {
  beforeAll(async () => {
    brokers = await kafkaBrokers()
  })

  describe.each(Object.entries(makers))('%s', (_name, make) => {
    test('stores keys, payloads, headers and tombstones as the publisher itself does', async () => {
      const topic = await createTestTopic({ partitions: 3 })
      const publisher = open(make)
      await publisher.check()
      const batch = [
        messageOf({ topic, key: 'a', payload: Buffer.from([0, 255, 1]), headers: { traceparent: 'x', eventId: 'forged' } }),
        messageOf({ topic, key: 'b', payload: null }),
        messageOf({ topic, key: '', payload: Buffer.from('{}') }),
      ]
      expect(outcomes(await publish(publisher, batch))).toEqual(['accepted', 'accepted', 'accepted'])
      const stored = new Map((await readTopic(brokers, topic)).map((one) => [one.key?.toString(), one]))
      expect(stored.size).toBe(3)
      expect(stored.get('a')?.value).toEqual(Buffer.from([0, 255, 1]))
      expect(stored.get('a')?.headers.map(([name, value]) => [name, value?.toString()])).toEqual([
        ['eventId', batch[0]?.id],
        ['eventType', 'OrderPlaced'],
        ['eventTime', '2026-01-01T00:00:00.000001Z'],
        ['aggregateType', 'order'],
        ['content-type', 'application/json'],
        ['traceparent', 'x'],
      ])
      expect(stored.get('b')?.value).toBeNull()
      for (const [key, record] of stored) expect(record.partition).toBe(partitionFor(key ?? '', 3))
    })

    test('200 sends at once: what is accepted is stored, once', async () => {
      const topic = await createTestTopic({ partitions: 2 })
      const publisher = open(make)
      const verdicts = await Promise.all(messagesOf(200, topic, (n) => ({ key: `k${n}` })).map((one) => publish(publisher, [one])))
      expect(outcomes(verdicts.flat())).toEqual(verdicts.map(() => 'accepted'))
      const stored = await readTopic(brokers, topic)
      expect(new Set(stored.map((one) => one.key?.toString())).size).toBe(200)
      expect(stored).toHaveLength(200)
    })

    test('has no fence, and asks for one message of a key at a time', () => {
      const publisher = open(make)
      expect(publisher.fence).toBeUndefined()
      expect('group' in publisher).toBe(false)
      expect(publisher.order).toBe('single')
    })

    test('one message that the broker refuses as too large costs its neighbours nothing', async () => {
      const topic = await createTestTopic({ configs: { 'max.message.bytes': '50000' } })
      const publisher = open(make)
      const batch = messagesOf(9, topic, (n) => ({ key: `k${n}`, payload: Buffer.alloc(n === 5 ? 60_000 : 100) }))
      const wanted = batch.map((_, i) => (i === 4 ? 'permanent MESSAGE_TOO_LARGE' : 'accepted'))
      expect(outcomes(await publish(publisher, batch))).toEqual(wanted)
      expect(new Set((await readTopic(brokers, topic)).map((one) => one.key?.toString())).size).toBe(8)
    })

    test('one above its own limit is not sent at all', async () => {
      const topic = await createTestTopic()
      const publisher = open(make, { maxRequestBytes: 10_000 })
      const batch = messagesOf(3, topic, (n) => ({ key: `k${n}`, payload: Buffer.alloc(n === 2 ? 10_000 : 6_000) }))
      expect(outcomes(await publish(publisher, batch))).toEqual(['accepted', 'permanent MESSAGE_TOO_LARGE', 'accepted'])
      expect(await readTopic(brokers, topic)).toHaveLength(2)
    })

    test('an answer that does not come in time leaves the outcome unknown', async () => {
      const topic = await createTestTopic()
      const [host = '', port = ''] = (brokers[0] ?? '').split(':')
      const proxy = await startProxy({ host, port: Number(port) })
      closing.push(() => proxy.close())
      await proxy.refuse()
      const publisher = open(make, { publishTimeoutMs: 500 }, [`127.0.0.1:${proxy.port}`])
      const [verdict] = await publish(publisher, [messageOf({ topic })])
      expect(verdict).toMatchObject({ kind: 'refused', class: expect.stringMatching(/^(unknown|unavailable)$/) })
    })
  })

  test('what is no producer is refused with what would be one', () => {
    for (const [value, hint] of [
      [{}, /kafkajs/],
      [null, /kafkajs/],
      [{ produce() {}, poll() {}, connect() {} }, /promise-based/],
    ] as const) {
      expect(() => kafka({ producer: value as unknown as OwnProducer })).toThrow(
        expect.objectContaining({ code: 'CONFIG_INVALID', hint: expect.stringMatching(hint) }),
      )
    }
    const producer = makers['kafkajs']?.(brokers) as OwnProducer
    expect(() => kafka({ producer, compression: 'gzip' } as OwnProducerOptions)).toThrow(/compression is the producer's own matter/)
  })
})
