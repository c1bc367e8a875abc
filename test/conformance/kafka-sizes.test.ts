// Sizes are those on the wire, with key and headers, measured against a real Kafka: what is too large fails alone, and everything else goes.
import { randomBytes } from 'node:crypto'
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import type { KafkaOptions } from '../../src/brokers/kafka/index.ts'
import type { Message, Verdict } from '../../src/core/index.ts'
import { createTestTopic, describeKafka, kafkaBrokers } from '../setup/index.ts'
import { openPublisher, outcomes } from './kafka-lane.ts'
import type { TestPublisher } from './kafka-lane.ts'
import { messageOf, messagesOf, readTopic, readValues } from './kafka-topic.ts'

const opened: TestPublisher[] = []
let brokers: string[] = []

async function open(options: Partial<KafkaOptions> = {}): Promise<TestPublisher> {
  const made = await openPublisher({ brokers, ...options })
  opened.push(made)
  return made
}

afterEach(async () => {
  await Promise.all(opened.splice(0).map(({ publisher }) => publisher.close()))
})

const topicWithLimit = (bytes: number): Promise<string> => createTestTopic({ configs: { 'max.message.bytes': String(bytes) } })

/** The size of a message's batch, by what the publisher says when it is refused. */
async function wireSize(message: Message): Promise<number> {
  const { publish } = await open({ maxRequestBytes: 1 })
  const [verdict] = await publish([message])
  const bytes = Number(/^(\d+) bytes/.exec(verdict?.kind === 'refused' ? verdict.detail : '')?.[1])
  expect(bytes).toBeGreaterThan(0)
  return bytes
}

const padded = (topic: string, bytes: number): Message =>
  messageOf({ topic, key: 'ключ', payload: Buffer.alloc(bytes, 'x'), headers: { traceparent: '00-ab-cd-01', 'n\u00e4me': 'wért' } })

describeKafka('sizes on a real Kafka', () => {
  beforeAll(async () => {
    brokers = await kafkaBrokers()
  })

  test.each([60, 8_000, 200_000])(
    "a %i byte payload's size is known to the byte: the topic's limit takes it, one byte less doesn't",
    async (payload) => {
      const bytes = await wireSize(padded(await createTestTopic(), payload))
      for (const [limit, outcome] of [
        [bytes - 1, 'permanent MESSAGE_TOO_LARGE'],
        [bytes, 'accepted'],
        [bytes + 1, 'accepted'],
      ] as const) {
        const topic = await topicWithLimit(limit)
        const { publish } = await open()
        const verdicts = await publish([padded(topic, payload)])
        expect(outcomes(verdicts)).toEqual([outcome])
        if (verdicts[0]?.kind === 'refused') {
          expect(verdicts[0].detail).toContain(`${bytes} bytes on the wire`)
          expect(verdicts[0].detail).toContain(`takes ${limit}`)
        }
        expect(await readTopic(brokers, topic)).toHaveLength(outcome === 'accepted' ? 1 : 0)
      }
    },
  )

  test('the same at its own limit, where nothing is sent', async () => {
    const topic = await createTestTopic()
    const message = padded(topic, 300)
    const bytes = await wireSize(message)
    for (const [maxRequestBytes, outcome] of [
      [bytes - 1, 'permanent MESSAGE_TOO_LARGE'],
      [bytes, 'accepted'],
      [bytes + 1, 'accepted'],
    ] as const) {
      const { publish } = await open({ maxRequestBytes })
      expect(outcomes(await publish([message]))).toEqual([outcome])
    }
    expect(await readTopic(brokers, topic)).toHaveLength(2)
  })

  describe.each([
    ['its own limit', 1_048_576, {}],
    ["the topic's limit, asked for", 100_000, { maxRequestBytes: 5_000_000 }],
    ["the topic's limit, found by halving", 100_000, { maxRequestBytes: 5_000_000, compression: 'gzip' }],
  ] as const)('%s', (_name, limit, options) => {
    test('an oversize message costs its 49 neighbours nothing', async () => {
      const topic = await topicWithLimit(limit)
      const { publish } = await open(options)
      // Random bytes, for a compressed batch is measured compressed.
      const large = randomBytes(2_000_000)
      const batch = messagesOf(50, topic, (n) => ({ key: `k${n}`, payload: n === 20 ? large : Buffer.alloc(1_000, `${n}`) }))
      const verdicts = await publish(batch)
      expect(outcomes(verdicts)).toEqual(batch.map((_, i) => (i === 19 ? 'permanent MESSAGE_TOO_LARGE' : 'accepted')))
      expect(detailOf(verdicts[19])).toMatch(/^20\d{5} bytes/)
      expect((await readTopic(brokers, topic)).map((one) => one.key?.toString())).toEqual(
        batch.filter((_, i) => i !== 19).map((one) => one.key),
      )
      // Neither is anything left behind of it.
      expect(outcomes(await publish([messageOf({ topic, key: 'k20' })]))).toEqual(['accepted'])
    })

    test('the later messages of its key stay behind it, and go when it is mended', async () => {
      const topic = await topicWithLimit(limit)
      const { publish } = await open(options)
      const large = randomBytes(2_000_000)
      const batch = messagesOf(5, topic, (n) => ({ key: n === 4 ? 'other' : 'k', ...(n === 2 ? { payload: large } : {}) }))
      expect(outcomes(await publish(batch))).toEqual([
        'accepted',
        'permanent MESSAGE_TOO_LARGE',
        'throttled BEHIND_REFUSED',
        'accepted',
        'throttled BEHIND_REFUSED',
      ])
      const mended = batch.filter((_, i) => i === 1 || i === 2 || i === 4).map((one) => ({ ...one, payload: Buffer.from(`m${one.seq}`) }))
      expect(outcomes(await publish(mended))).toEqual(['accepted', 'accepted', 'accepted'])
      expect(await readValues(brokers, topic)).toEqual(['m1', 'm4', 'm2', 'm3', 'm5'])
    })

    test('a batch that is too large in sum is cut, and keeps its order', async () => {
      const topic = await topicWithLimit(limit)
      const { publish } = await open(options)
      const batch = messagesOf(40, topic, (n) => ({ key: `k${n % 3}`, payload: randomBytes(60_000) }))
      expect(outcomes(await publish(batch))).toEqual(batch.map(() => 'accepted'))
      const stored = await readTopic(brokers, topic)
      expect(stored.map((one) => one.value?.toString('hex').slice(0, 32))).toEqual(
        batch.map((one) =>
          Buffer.from(one.payload ?? [])
            .toString('hex')
            .slice(0, 32),
        ),
      )
    })
  })

  test('a topic whose limit was raised takes what failed before', async () => {
    const topic = await topicWithLimit(10_000)
    const { publish } = await open()
    const message = messageOf({ topic, payload: Buffer.alloc(20_000) })
    expect(outcomes(await publish([message]))).toEqual(['permanent MESSAGE_TOO_LARGE'])
    await raise(topic, 30_000)
    // The broker takes a moment to hear of it, and what was learned holds for a second.
    await vi.waitFor(async () => expect(outcomes(await publish([message]))).toEqual(['accepted']), { timeout: 10_000 })
  })

  test('900 kB of text that compresses well fits into a small topic only when it is compressed', async () => {
    const topic = await topicWithLimit(50_000)
    const payload = Buffer.alloc(900_000, 'abc')
    expect(outcomes(await (await open()).publish([messageOf({ topic, payload })]))).toEqual(['permanent MESSAGE_TOO_LARGE'])
    expect(outcomes(await (await open({ compression: 'zstd' })).publish([messageOf({ topic, payload })]))).toEqual(['accepted'])
    expect((await readTopic(brokers, topic))[0]?.value?.equals(payload)).toBe(true)
  })
})

const detailOf = (verdict: Verdict | undefined): string => (verdict?.kind === 'refused' ? verdict.detail : '')

async function raise(topic: string, bytes: number): Promise<void> {
  const { Admin } = await import('@platformatic/kafka')
  const admin = new Admin({ clientId: 'outrider-test', bootstrapBrokers: brokers })
  try {
    await admin.incrementalAlterConfigs({
      resources: [
        { resourceType: 2, resourceName: topic, configs: [{ name: 'max.message.bytes', configOperation: 0, value: String(bytes) }] },
      ],
    })
  } finally {
    await admin.close()
  }
}
