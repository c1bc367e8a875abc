// Answers that a real broker gives only in rare moments, and what becomes of the messages.
import { describe, expect, test } from 'vitest'
import { decodeFence } from '../../../../src/brokers/kafka/fence.ts'
import { outcomes } from '../../../conformance/kafka-lane.ts'
import { messageOf, messagesOf } from '../../../conformance/kafka-topic.ts'
import { FakeKafka } from './fake-kafka.ts'
import { openLane } from './fake-lane.ts'

const answer = (code: number, recordErrors: number[] = []) => ({ kind: 'answer', code, recordErrors }) as const
const all = (count: number, outcome: string): string[] => Array.from({ length: count }, () => outcome)

describe('records that the broker refuses', () => {
  test('those it names fail, the others are sent again, and the later ones of their keys stay behind', async () => {
    const kafka = new FakeKafka({ t: 1 })
    const { publish } = await openLane(kafka)
    kafka.fates.push(answer(87, [1, 3]))
    const batch = messagesOf(6, 't', (n) => ({ key: n === 6 ? 'k2' : `k${n}` }))
    expect(outcomes(await publish(batch))).toEqual([
      'accepted',
      'permanent INVALID_RECORD',
      'accepted',
      'permanent INVALID_RECORD',
      'accepted',
      'throttled BEHIND_REFUSED',
    ])
    expect(kafka.values('t')).toEqual(['m1', 'm3', 'm5'])
  })

  test.each([
    [87, 'permanent INVALID_RECORD'],
    [32, 'permanent INVALID_TIMESTAMP'],
    [2, 'transient CORRUPT_MESSAGE'],
    [10, 'permanent MESSAGE_TOO_LARGE'],
  ])('code %i without a name is found by halving', async (code, outcome) => {
    const kafka = new FakeKafka({ t: 1 })
    const { publish } = await openLane(kafka)
    kafka.fate = ({ records }) => (records.some((one) => one.value?.toString() === 'm5') ? answer(code) : null)
    const batch = messagesOf(9, 't', (n) => ({ key: `k${n}` }))
    expect(outcomes(await publish(batch))).toEqual(batch.map((_, i) => (i === 4 ? outcome : 'accepted')))
    expect(kafka.values('t')).toEqual(['m1', 'm2', 'm3', 'm4', 'm6', 'm7', 'm8', 'm9'])
  })

  test.each([
    [17, 'permanent INVALID_TOPIC_EXCEPTION'],
    [29, 'transient TOPIC_AUTHORIZATION_FAILED'],
    [31, 'unavailable CLUSTER_AUTHORIZATION_FAILED'],
    [89, 'throttled THROTTLING_QUOTA_EXCEEDED'],
  ])('code %i is the same for all of them', async (code, outcome) => {
    const kafka = new FakeKafka({ t: 1 })
    const { publish } = await openLane(kafka)
    kafka.fates.push(answer(code))
    expect(outcomes(await publish(messagesOf(3, 't')))).toEqual(all(3, outcome))
    expect(outcomes(await publish(messagesOf(3, 't')))).toEqual(all(3, 'accepted'))
  })
})

describe('an outcome in doubt', () => {
  test.each([-1, 7, 13, 20, 56, 133])(
    'code %i may mean stored: the batch goes again with the same numbers, and is stored once',
    async (code) => {
      for (const kind of ['storedBut', 'answer'] as const) {
        const kafka = new FakeKafka({ t: 1 })
        const { publish } = await openLane(kafka)
        kafka.fates.push({ kind, code })
        expect(outcomes(await publish(messagesOf(3, 't')))).toEqual(all(3, 'accepted'))
        expect(outcomes(await publish([messageOf({ topic: 't', seq: 4n })]))).toEqual(['accepted'])
        expect(kafka.values('t')).toEqual(['m1', 'm2', 'm3', 'm4'])
        expect(kafka.requests.map((one) => one.sequence)).toEqual([0, 0, 3])
      }
    },
  )

  test.each([-1, 7, 13, 20, 56, 133])('code %i again and again is an unknown outcome, never a refusal', async (code) => {
    const kafka = new FakeKafka({ t: 1 })
    const { publish } = await openLane(kafka)
    kafka.fate = () => ({ kind: 'storedBut', code })
    expect(outcomes(await publish(messagesOf(2, 't')))[0]).toMatch(/^unknown /)
    expect(kafka.values('t')).toEqual(['m1', 'm2'])
  })

  test.each([6, 3, 10, 87, 17, 29, 19, 89])('is not ended by code %i, which speaks of the second try only', async (code) => {
    const kafka = new FakeKafka({ t: 1 })
    const { publish, fence } = await openLane(kafka)
    kafka.fates.push({ kind: 'lost', stored: true })
    kafka.fate = () => answer(code)
    expect(outcomes(await publish(messagesOf(2, 't')))[0]).toMatch(/^unknown /)
    kafka.fate = () => null
    await fence()
    expect(outcomes(await publish(messagesOf(2, 't')))).toEqual(all(2, 'accepted'))
  })

  test('what follows in the batch is not sent, and nothing else before a new fence', async () => {
    const kafka = new FakeKafka({ t: 1 })
    const { publish, fence } = await openLane(kafka, { maxRequestBytes: 700 })
    kafka.fate = () => ({ kind: 'lost', stored: false })
    const found = outcomes(await publish(messagesOf(6, 't')))
    expect(found[0]).toBe('unknown CONNECTION_LOST')
    expect(found.at(-1)).toBe('throttled BEHIND_UNKNOWN')
    kafka.fate = () => null
    expect(outcomes(await publish(messagesOf(2, 't')))).toEqual(all(2, 'unknown FENCE_NEEDED'))
    expect(kafka.values('t')).toEqual([])
    await fence()
    expect(outcomes(await publish(messagesOf(6, 't')))).toEqual(all(6, 'accepted'))
    expect(kafka.values('t')).toEqual(['m1', 'm2', 'm3', 'm4', 'm5', 'm6'])
  })

  test('what was certainly not sent leaves none', async () => {
    const kafka = new FakeKafka({ t: 1 })
    const { publish } = await openLane(kafka)
    kafka.fate = () => ({ kind: 'notSent' })
    expect(outcomes(await publish(messagesOf(2, 't')))).toEqual(all(2, 'unavailable CONNECTION_LOST'))
    kafka.fate = () => null
    expect(outcomes(await publish(messagesOf(2, 't')))).toEqual(all(2, 'accepted'))
  })

  test('"seen already" ends it when the try before was ours', async () => {
    const kafka = new FakeKafka({ t: 1 })
    const { publish } = await openLane(kafka)
    kafka.fates.push({ kind: 'lost', stored: true }, answer(46))
    expect(await publish(messagesOf(1, 't'))).toEqual([{ kind: 'accepted', position: null }])
    expect(outcomes(await publish([messageOf({ topic: 't', seq: 2n })]))).toEqual(['accepted'])
    expect(kafka.values('t')).toEqual(['m1', 'm2'])
  })
})

describe('a producer id that is of no use any more', () => {
  test.each([45, 46, 47, 49, 59, 90])('after code %i the lane goes on under another id', async (code) => {
    const kafka = new FakeKafka({ t: 1 })
    const { publish, fence } = await openLane(kafka)
    const first = decodeFence(await fence())
    kafka.fates.push(answer(code))
    expect(outcomes(await publish(messagesOf(1, 't')))[0]).toMatch(/^unknown /)
    const second = decodeFence(await fence())
    expect(second).toMatchObject({ epoch: 0 })
    expect(second?.producerId).not.toBe(first?.producerId)
    expect(outcomes(await publish(messagesOf(1, 't')))).toEqual(['accepted'])
    // Once is enough: the new id lives on.
    expect(decodeFence(await fence())).toEqual({ ...second, epoch: 1 })
  })
})

describe('answers that can not be', () => {
  test.each([0n, 2n, -1n])(
    'a batch accepted at offset %i, where the partition has gone further, counts for nothing',
    async (baseOffset) => {
      const kafka = new FakeKafka({ t: 1 })
      const { publish } = await openLane(kafka)
      expect(outcomes(await publish(messagesOf(3, 't')))).toEqual(all(3, 'accepted'))
      kafka.fates.push({ kind: 'answer', code: 0, baseOffset })
      expect(outcomes(await publish(messagesOf(2, 't')))).toEqual(all(2, 'unknown BROKER_ANSWER_INVALID'))
    },
  )
})

describe('leaders', () => {
  test.each([5, 6, 74, 75])('after code %i the new leader is asked for, and the batch goes there', async (code) => {
    const kafka = new FakeKafka({ t: 1 })
    const { publish } = await openLane(kafka)
    await publish(messagesOf(1, 't'))
    const connections = kafka.connections
    const [partition] = kafka.topics.get('t') ?? []
    kafka.fates.push(answer(code))
    if (partition !== undefined) partition.leader = 2
    expect(outcomes(await publish(messagesOf(3, 't').slice(1)))).toEqual(all(2, 'accepted'))
    expect(kafka.connections).toBe(connections + 1)
    expect(kafka.values('t')).toEqual(['m1', 'm2', 'm3'])
  })

  test('a partition without a leader is unavailable, and used as soon as it has one', async () => {
    const kafka = new FakeKafka({ t: 1 })
    const { publish } = await openLane(kafka)
    const [partition] = kafka.topics.get('t') ?? []
    if (partition === undefined) throw new Error('no partition')
    partition.leader = -1
    expect(outcomes(await publish(messagesOf(1, 't')))).toEqual(['unavailable LEADER_NOT_AVAILABLE'])
    partition.leader = 2
    expect(outcomes(await publish(messagesOf(1, 't')))).toEqual(['accepted'])
  })

  test('too few replicas is unavailable, and costs no sequence number', async () => {
    const kafka = new FakeKafka({ t: 1 })
    const { publish } = await openLane(kafka)
    kafka.fate = () => answer(19)
    expect(outcomes(await publish(messagesOf(1, 't')))).toEqual(['unavailable NOT_ENOUGH_REPLICAS'])
    kafka.fate = () => null
    expect(outcomes(await publish(messagesOf(1, 't')))).toEqual(['accepted'])
  })

  test('a pause that a broker asks for is kept', async () => {
    const kafka = new FakeKafka({ t: 1 })
    const { publish, clock } = await openLane(kafka)
    kafka.throttleMs = 5_000
    await publish(messagesOf(1, 't'))
    kafka.throttleMs = 0
    const [verdict] = await publish(messagesOf(1, 't'))
    expect(verdict).toMatchObject({ class: 'throttled', code: 'THROTTLING_QUOTA_EXCEEDED' })
    expect(verdict?.kind === 'refused' ? verdict.retryAfterMs : 0).toBeGreaterThan(4_000)
    await clock.advance(5_000)
    expect(outcomes(await publish(messagesOf(1, 't')))).toEqual(['accepted'])
  })
})
