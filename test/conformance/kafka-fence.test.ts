// What the network may do to a request, and what the lane's fence makes of it; on a real Kafka behind a proxy.
import { afterEach, beforeAll, expect, test, vi } from 'vitest'
import { decodeFence, encodeFence, LAST_EPOCH } from '../../src/brokers/kafka/fence.ts'
import type { KafkaOptions } from '../../src/brokers/kafka/index.ts'
import { startProxy } from '../../src/testing/proxy.ts'
import type { TcpProxy } from '../../src/testing/proxy.ts'
import { createTestTopic, describeKafka, kafkaBrokers } from '../setup/index.ts'
import { fenceOf, openPublisher, outcomes } from './kafka-lane.ts'
import type { TestPublisher } from './kafka-lane.ts'
import { messageOf, messagesOf, readTopic, readValues } from './kafka-topic.ts'

const closing: (() => Promise<void>)[] = []
let brokers: string[] = []

interface Behind extends TestPublisher {
  readonly proxy: TcpProxy
  /** New connections go past the proxy from now on. */
  goPast(): void
}

/** A publisher whose connections all go through a proxy. */
async function openBehind(options: Partial<KafkaOptions> = {}): Promise<Behind> {
  const [host = '', port = ''] = (brokers[0] ?? '').split(':')
  const proxy = await startProxy({ host, port: Number(port) })
  let isPast = false
  const made = await openPublisher(
    { brokers, publishTimeoutMs: 3_000, connectTimeoutMs: 2_000, ...options },
    { map: (address) => (isPast ? address : proxy) },
  )
  closing.push(async () => {
    await made.publisher.close()
    await proxy.close()
  })
  return { ...made, proxy, goPast: () => (isPast = true) }
}

async function openDirect(options: Partial<KafkaOptions> = {}): Promise<TestPublisher> {
  const made = await openPublisher({ brokers, ...options }, { lanes: 0 })
  closing.push(() => made.publisher.close())
  return made
}

afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

const values = (from: number, to: number): string[] => Array.from({ length: to - from + 1 }, (_, i) => `m${from + i}`)

/** m1 and m2 are stored, m3 and m4 are held in the network, then sent again under another fence, and m5 and m6 after them. */
async function lateRequest(topic: string, next: (publisher: Behind) => Promise<void>): Promise<Behind> {
  const lane = await openBehind()
  const batch = messagesOf(6, topic)
  expect(outcomes(await lane.publish(batch.slice(0, 2)))).toEqual(['accepted', 'accepted'])
  lane.proxy.set('hold')
  expect(outcomes(await lane.publish(batch.slice(2, 4)))).toEqual(['unknown NO_ANSWER', 'unknown NO_ANSWER'])
  expect(lane.proxy.caughtBytes).toBeGreaterThan(100)
  lane.goPast()
  await next(lane)
  expect(outcomes(await lane.publish(batch.slice(2, 4)))).toEqual(['accepted', 'accepted'])
  expect(outcomes(await lane.publish(batch.slice(4, 6)))).toEqual(['accepted', 'accepted'])
  await lane.proxy.release()
  return lane
}

describeKafka('the fence on a real Kafka', () => {
  beforeAll(async () => {
    brokers = await kafkaBrokers()
  })

  test('late bytes of the epoch before are refused by the broker', async () => {
    const topic = await createTestTopic()
    await lateRequest(topic, async (lane) => void (await lane.fence()))
    expect(await readValues(brokers, topic)).toEqual(values(1, 6))
  })

  test('control: with a new producer id in place of the next epoch they are stored, after newer ones', async () => {
    const topic = await createTestTopic()
    await lateRequest(topic, async ({ publisher }) => fenceOf(publisher).enter(0, await fenceOf(publisher).advance(0, null)))
    expect(await readValues(brokers, topic)).toEqual([...values(1, 6), 'm3', 'm4'])
  })

  test('an answer that gets lost costs nothing: the batch is sent again with its numbers, and stored once', async () => {
    const topic = await createTestTopic()
    const { proxy, publish } = await openBehind({ publishTimeoutMs: 20_000 })
    await publish(messagesOf(2, topic))
    proxy.set('dropReplies')
    const verdicts = publish(messagesOf(5, topic).slice(2))
    await proxy.caught()
    proxy.set('pass')
    proxy.reset()
    expect(outcomes(await verdicts)).toEqual(['accepted', 'accepted', 'accepted'])
    expect(outcomes(await publish(messagesOf(6, topic).slice(5)))).toEqual(['accepted'])
    expect(await readValues(brokers, topic)).toEqual(values(1, 6))
  })

  test('a request that is cut in the middle is sent again, and stored once', async () => {
    const topic = await createTestTopic()
    const { proxy, publish } = await openBehind({ publishTimeoutMs: 20_000 })
    await publish(messagesOf(1, topic))
    proxy.cutAfter(2_000)
    const batch = messagesOf(3, topic, () => ({ payload: Buffer.alloc(1_500, 'x') }))
    expect(outcomes(await publish(batch))).toEqual(['accepted', 'accepted', 'accepted'])
    expect(await readTopic(brokers, topic)).toHaveLength(4)
  })

  test('a connection that was lost while idle is made anew, without a doubt about anything', async () => {
    const topic = await createTestTopic()
    const { proxy, publish } = await openBehind({ publishTimeoutMs: 20_000 })
    await publish(messagesOf(1, topic))
    proxy.reset()
    expect(outcomes(await publish(messagesOf(2, topic).slice(1)))).toEqual(['accepted'])
    expect(await readValues(brokers, topic)).toEqual(values(1, 2))
  })

  test('a broker that takes no connection is unavailable, and what was never sent needs no fence', async () => {
    const topic = await createTestTopic()
    const { proxy, publisher, publish } = await openBehind()
    await publish(messagesOf(1, topic))
    await proxy.refuse()
    // By now the publisher has seen that its connections are gone.
    await expect(publisher.check()).rejects.toMatchObject({ code: 'BROKER_UNREACHABLE' })
    expect(outcomes(await publish(messagesOf(2, topic).slice(1)))).toEqual(['unavailable BROKER_UNREACHABLE'])
    await proxy.listen()
    expect(outcomes(await publish(messagesOf(2, topic).slice(1)))).toEqual(['accepted'])
    expect(await readValues(brokers, topic)).toEqual(values(1, 2))
  })

  test('after an unknown outcome the partition takes nothing before the lane has a new fence', async () => {
    const topic = await createTestTopic()
    const { proxy, publish, fence } = await openBehind()
    await publish(messagesOf(1, topic))
    proxy.set('blackHole')
    expect(outcomes(await publish(messagesOf(2, topic).slice(1)))).toEqual(['unknown NO_ANSWER'])
    proxy.set('pass')
    expect(outcomes(await publish(messagesOf(3, topic).slice(1)))).toEqual(['unknown FENCE_NEEDED', 'unknown FENCE_NEEDED'])
    await fence()
    expect(outcomes(await publish(messagesOf(3, topic).slice(1)))).toEqual(['accepted', 'accepted'])
    expect(await readValues(brokers, topic)).toEqual(values(1, 3))
  })

  test('when the relay gives up, what was sent is unknown at once', async () => {
    const topic = await createTestTopic()
    const { proxy, publisher, publish } = await openBehind({ publishTimeoutMs: 60_000 })
    await publish(messagesOf(1, topic))
    proxy.set('hold')
    const giveUp = new AbortController()
    const verdicts = publisher.publish(messagesOf(2, topic), { lane: 0, signal: giveUp.signal })
    await proxy.caught()
    giveUp.abort()
    expect(outcomes(await verdicts)).toEqual(['unknown NO_ANSWER', 'unknown NO_ANSWER'])
  })

  test('whoever held the lane before is told so; its next fence is another id, so the two never take turns', async () => {
    const topic = await createTestTopic()
    const before = await openDirect()
    const first = await before.fence()
    expect(outcomes(await before.publish([messageOf({ topic })]))).toEqual(['accepted'])
    const after = await openDirect()
    const second = await fenceOf(after.publisher).advance(0, first)
    fenceOf(after.publisher).enter(0, second)
    expect(outcomes(await after.publish([messageOf({ topic })]))).toEqual(['accepted'])
    expect(outcomes(await before.publish([messageOf({ topic })]))).toEqual(['unknown INVALID_PRODUCER_EPOCH'])
    await before.fence()
    expect(outcomes(await before.publish([messageOf({ topic })]))).toEqual(['accepted'])
    expect(outcomes(await after.publish([messageOf({ topic })]))).toEqual(['accepted'])
    expect(new Set((await readTopic(brokers, topic)).map((one) => one.producerId)).size).toBe(2)
  })

  test('a fence is the same id with the next epoch; another id near the last epoch, for another cluster, for bytes that say nothing', async () => {
    const { publisher } = await openDirect()
    const fence = fenceOf(publisher)
    const first = decodeFence(await fence.advance(0, null))
    if (first === null) throw new Error('no fence')
    expect(first).toMatchObject({ epoch: 0 })
    expect(decodeFence(await fence.advance(0, encodeFence(first)))).toEqual({ ...first, epoch: 1 })
    expect(decodeFence(await fence.advance(0, encodeFence({ ...first, epoch: LAST_EPOCH - 1 })))).toEqual({ ...first, epoch: LAST_EPOCH })
    for (const stored of [
      encodeFence({ ...first, epoch: LAST_EPOCH }),
      encodeFence({ ...first, clusterId: 'other' }),
      new Uint8Array([9, 9]),
    ]) {
      const next = decodeFence(await fence.advance(0, stored))
      expect(next).toMatchObject({ clusterId: first.clusterId, epoch: 0 })
      expect(next?.producerId).not.toBe(first.producerId)
    }
  })

  test('the last epoch is one that the broker takes', async () => {
    const topic = await createTestTopic()
    const { publisher, publish } = await openDirect()
    const first = decodeFence(await fenceOf(publisher).advance(0, null))
    if (first === null) throw new Error('no fence')
    fenceOf(publisher).enter(0, encodeFence({ ...first, epoch: LAST_EPOCH }))
    expect(outcomes(await publish([messageOf({ topic })]))).toEqual(['accepted'])
  })

  test('a lane without a fence publishes nothing', async () => {
    const topic = await createTestTopic()
    const { publish } = await openDirect()
    await expect(publish([messageOf({ topic })])).rejects.toMatchObject({ code: 'USAGE', message: expect.stringContaining('Lane 0') })
    expect(await readTopic(brokers, topic)).toEqual([])
  })

  test('close ends what is under way, may come twice, and nothing is published after it', async () => {
    const topic = await createTestTopic()
    const { proxy, publisher, publish } = await openBehind({ publishTimeoutMs: 60_000 })
    await publish(messagesOf(1, topic))
    proxy.set('hold')
    const verdicts = publish(messagesOf(2, topic))
    await proxy.caught()
    await Promise.all([publisher.close(), publisher.close()])
    expect(outcomes(await verdicts)).toEqual(['unknown CONNECTION_LOST', 'unknown CONNECTION_LOST'])
    await expect(publish(messagesOf(2, topic))).rejects.toMatchObject({ code: 'CLOSED' })
    await expect(publisher.check()).rejects.toMatchObject({ code: 'CLOSED' })
    await (await openDirect()).publisher.close()
  })

  test('check says yes, and names the address of a broker that is not there', async () => {
    const { publisher, proxy } = await openBehind()
    await publisher.check()
    const refused = { code: 'BROKER_UNREACHABLE', message: expect.stringMatching(/127\.0\.0\.1:\d+.*Nothing was sent/) }
    proxy.set('blackHole')
    await expect(publisher.check()).rejects.toMatchObject(refused)
    await proxy.refuse()
    await expect(publisher.check()).rejects.toMatchObject(refused)
    proxy.set('pass')
    await proxy.listen()
    await vi.waitFor(() => publisher.check())
  })
})
