// The publisher on a real Kafka: order, idempotence, bytes, topics that come and go.
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { partitionFor } from '../../src/brokers/kafka/index.ts'
import type { KafkaOptions } from '../../src/brokers/kafka/index.ts'
import { createTopicOn, deleteTopicsOn } from '../../servers/kafka-topics.ts'
import { createTestTopic, describeKafka, kafkaBrokers } from '../setup/index.ts'
import { openPublisher, outcomes } from './kafka-lane.ts'
import type { TestPublisher } from './kafka-lane.ts'
import { messageOf, messagesOf, readTopic, readValues } from './kafka-topic.ts'

const opened: TestPublisher[] = []
let brokers: string[] = []

async function open(options: Partial<KafkaOptions> = {}, lanes = 1): Promise<TestPublisher> {
  const made = await openPublisher({ brokers, ...options }, { lanes })
  opened.push(made)
  return made
}

afterEach(async () => {
  await Promise.all(opened.splice(0).map(({ publisher }) => publisher.close()))
})

describeKafka('the Kafka publisher', () => {
  beforeAll(async () => {
    brokers = await kafkaBrokers()
  })

  test('a batch is stored in its order, each message where its position says', async () => {
    const topic = await createTestTopic({ partitions: 4 })
    const { publish } = await open()
    const batch = messagesOf(200, topic, (n) => ({ key: `k${n % 20}` }))
    const positions = (await publish(batch)).map((one) => (one.kind === 'accepted' ? (one.position ?? '') : one.code))
    const stored = await readTopic(brokers, topic)
    expect(stored).toHaveLength(200)
    expect(new Set(positions).size).toBe(200)
    const at = new Map(stored.map((one) => [`${topic}/${one.partition}/${one.offset}`, one]))
    for (const [i, message] of batch.entries()) {
      const record = at.get(positions[i] ?? '')
      expect(record?.value?.toString()).toBe(`m${message.seq}`)
      expect(record?.partition).toBe(partitionFor(message.key ?? '', 4))
    }
    for (let key = 0; key < 20; key++) {
      const seen = stored.filter((one) => one.key?.toString() === `k${key}`).map((one) => Number(one.value?.toString().slice(1)))
      expect(seen).toEqual(seen.toSorted((a, b) => a - b))
      expect(seen).toHaveLength(10)
    }
  })

  test.each([1, 8])('200 sends at once to %i partitions: what is accepted is stored, once and in order', async (partitions) => {
    const topic = await createTestTopic({ partitions })
    const { publish } = await open()
    const verdicts = (await Promise.all(messagesOf(200, topic, (n) => ({ key: `k${n}` })).map((message) => publish([message])))).flat()
    expect(outcomes(verdicts)).toEqual(Array.from({ length: 200 }, () => 'accepted'))
    const stored = await readTopic(brokers, topic)
    expect(new Set(stored.map((one) => one.value?.toString())).size).toBe(200)
    expect(stored).toHaveLength(200)
    for (let partition = 0; partition < partitions; partition++) {
      const seen = stored.filter((one) => one.partition === partition).map((one) => Number(one.value?.toString().slice(1)))
      expect(seen).toEqual(seen.toSorted((a, b) => a - b))
    }
  })

  test('lanes publish at once, each under a producer id of its own', async () => {
    const topic = await createTestTopic({ partitions: 2 })
    const { publish } = await open({}, 8)
    const lanes = Array.from({ length: 8 }, (_, lane) => lane)
    const verdicts = await Promise.all(
      lanes.map(async (lane) => [
        ...(await publish(
          messagesOf(50, topic, (n) => ({ key: `${lane}-${n % 5}` })),
          lane,
        )),
        ...(await publish(
          messagesOf(50, topic, (n) => ({ key: `${lane}-${n % 5}` })),
          lane,
        )),
      ]),
    )
    expect(outcomes(verdicts.flat()).every((one) => one === 'accepted')).toBe(true)
    const stored = await readTopic(brokers, topic)
    expect(stored).toHaveLength(800)
    expect(new Set(stored.map((one) => one.producerId)).size).toBe(8)
  })

  test('payloads arrive byte for byte', async () => {
    const topic = await createTestTopic()
    const { publish } = await open()
    const payloads: (Uint8Array | null)[] = [
      null,
      new Uint8Array(0),
      Buffer.from('"\u2028\u2029"'),
      Buffer.from('"👩‍👩‍👧 日本 \\u0000"'),
      Buffer.from('{"n":12345678901234567890.10, "z":1.500}'),
      Buffer.from(`${'['.repeat(5_000)}${']'.repeat(5_000)}`),
      Buffer.alloc(900_000, 'x'),
      Uint8Array.from({ length: 256 }, (_, i) => i),
      // A window of a larger buffer, as a driver hands it out.
      new Uint8Array(Buffer.from('--window--')).subarray(2, 8),
    ]
    const verdicts = await publish(payloads.map((payload, i) => messageOf({ topic, payload, key: `k${i}` })))
    expect(outcomes(verdicts).every((one) => one === 'accepted')).toBe(true)
    const stored = await readTopic(brokers, topic)
    expect(stored.map((one) => one.value?.toString('base64') ?? null)).toEqual(
      payloads.map((one) => (one === null ? null : Buffer.from(one).toString('base64'))),
    )
  })

  test('keys arrive as UTF-8; no key, an empty key and a blank key are three things', async () => {
    const topic = await createTestTopic({ partitions: 3 })
    const { publish } = await open()
    const keys = [null, '', ' ', 'ключ', '👩‍👩‍👧', 'k'.repeat(100_000)]
    await publish(keys.map((key, i) => messageOf({ topic, key, seq: BigInt(i) })))
    const stored = new Map((await readTopic(brokers, topic)).map((one) => [one.value?.toString(), one]))
    for (const [i, key] of keys.entries()) {
      const record = stored.get(`m${i}`)
      expect(record?.key?.toString() ?? null).toBe(key)
      if (key !== null) expect(record?.partition).toBe(partitionFor(key, 3))
    }
  })

  test('messages without a key go to one partition a batch, and to all of them in time', async () => {
    const topic = await createTestTopic({ partitions: 4 })
    const { publish } = await open()
    for (let batch = 0; batch < 4; batch++) await publish(messagesOf(10, topic, () => ({ key: null })))
    const stored = await readTopic(brokers, topic)
    expect([0, 1, 2, 3].map((partition) => stored.filter((one) => one.partition === partition).length)).toEqual([10, 10, 10, 10])
  })

  test("headers: those made from the message first, then the row's own, each name once", async () => {
    const topic = await createTestTopic()
    const { publish } = await open()
    const before = Date.now()
    const message = messageOf({
      topic,
      contentType: 'text/plain',
      headers: {
        traceparent: '00-ab-cd-01',
        eventVersion: '2',
        eventId: 'forged',
        'content-type': 'forged',
        empty: '',
        näme: 'wért 👍',
        ContentType: 'x',
      },
    })
    await publish([message])
    const [record] = await readTopic(brokers, topic)
    expect(record?.headers.map(([name, value]) => [name, value?.toString()])).toEqual([
      ['eventId', message.id],
      ['eventType', 'OrderPlaced'],
      ['eventTime', '2026-01-01T00:00:00.000001Z'],
      ['aggregateType', 'order'],
      ['content-type', 'text/plain'],
      ['traceparent', '00-ab-cd-01'],
      ['eventVersion', '2'],
      ['empty', ''],
      ['näme', 'wért 👍'],
      ['ContentType', 'x'],
    ])
    // The time of publishing, not the event's: a backlog may be older than the topic's retention.
    expect(record?.timestampMs).toBeGreaterThanOrEqual(before)
    expect(record?.timestampMs).toBeLessThanOrEqual(Date.now())
  })

  test.each(['gzip', 'snappy', 'lz4', 'zstd'] as const)('a batch compressed by %s is read back as it was', async (compression) => {
    const topic = await createTestTopic()
    const { publish } = await open({ compression })
    expect(outcomes(await publish(messagesOf(100, topic))).every((one) => one === 'accepted')).toBe(true)
    expect(await readValues(brokers, topic)).toEqual(Array.from({ length: 100 }, (_, i) => `m${i + 1}`))
  })

  test('the group is the topic until its partitions are known, then topic and partition', async () => {
    const topic = await createTestTopic({ partitions: 5 })
    const { publisher, publish } = await open()
    const message = messageOf({ topic, key: 'k1' })
    expect(publisher.group?.(message)).toBe(topic)
    await publish([message])
    expect(publisher.group?.(message)).toBe(`${topic}/${partitionFor('k1', 5)}`)
    expect(publisher.group?.(messageOf({ topic, key: null }))).toBe(`${topic}/*`)
  })

  describe('a topic that is not there', () => {
    test('waits without an attempt, and delays no other', async () => {
      const topic = await createTestTopic()
      const { publish } = await open()
      const missing = publish([messageOf({ topic: `${topic}-not` })])
      expect(outcomes(await publish([messageOf({ topic })]))).toEqual(['accepted'])
      expect(outcomes(await missing)).toEqual(['throttled UNKNOWN_TOPIC'])
    })

    test('is used as soon as somebody made it', async () => {
      const topic = await createTestTopic()
      const fresh = `${topic}-fresh`
      const { publish } = await open()
      try {
        expect(outcomes(await publish([messageOf({ topic: fresh })]))).toEqual(['throttled UNKNOWN_TOPIC'])
        await createTopicOn(brokers, fresh, { partitions: 2 })
        expect(outcomes(await publish([messageOf({ topic: fresh })]))).toEqual(['accepted'])
      } finally {
        await deleteTopicsOn(brokers, [fresh])
      }
    })

    test('fails its messages for good after the grace time, by name; it is never made', async () => {
      const topic = `${await createTestTopic()}-typo`
      const { publish } = await open({ unknownTopicGraceMs: 0 })
      const [verdict] = await publish([messageOf({ topic })])
      expect(verdict).toMatchObject({ kind: 'refused', class: 'permanent', code: 'UNKNOWN_TOPIC', detail: expect.stringContaining(topic) })
      const [again] = await publish([messageOf({ topic })])
      expect(again).toMatchObject({ class: 'permanent' })
    })

    test('was deleted while in use: it waits, and goes on when it is back', async () => {
      const topic = await createTestTopic({ partitions: 2 })
      const { publish, fence } = await open()
      expect(outcomes(await publish([messageOf({ topic })]))).toEqual(['accepted'])
      await deleteTopicsOn(brokers, [topic])
      expect(outcomes(await publish([messageOf({ topic })]))[0]).toMatch(/UNKNOWN_TOPIC/)
      await createTopicOn(brokers, topic, { partitions: 1 })
      // Its offsets begin anew, which looks like an answer that can't be: a new fence puts it right.
      let outcome = outcomes(await publish([messageOf({ topic })]))
      if (outcome[0] !== 'accepted') {
        expect(outcome).toEqual(['unknown BROKER_ANSWER_INVALID'])
        await fence()
        outcome = outcomes(await publish([messageOf({ topic })]))
      }
      expect(outcome).toEqual(['accepted'])
      expect(await readTopic(brokers, topic)).not.toHaveLength(0)
    })
  })
})
