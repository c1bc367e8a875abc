// One request in flight for each lane and partition, numbers without a gap, and never a later message of a key before an earlier one.
import { describe, expect, test } from 'vitest'
import { partitionFor } from '../../../../src/brokers/kafka/index.ts'
import { Turns } from '../../../../src/brokers/kafka/turns.ts'
import type { Message } from '../../../../src/core/index.ts'
import { outcomes } from '../../../conformance/kafka-lane.ts'
import { messageOf, messagesOf } from '../../../conformance/kafka-topic.ts'
import { FakeKafka } from './fake-kafka.ts'
import { openLane } from './fake-lane.ts'

const one = (seq: number, key: string | null = 'k'): Message => messageOf({ topic: 't', seq: BigInt(seq), key })

describe('one request in flight', () => {
  test('however many calls come at once, before and after the partitions are known', async () => {
    const kafka = new FakeKafka({ t: 2 })
    const { start, done } = await openLane(kafka)
    const calls = messagesOf(40, 't', (n) => ({ key: n % 5 === 0 ? null : `k${n % 7}` })).map((message) => start([message]))
    expect(outcomes((await done(Promise.all(calls))).flat()).every((outcome) => outcome === 'accepted')).toBe(true)
    const more = messagesOf(40, 't', (n) => ({ key: n % 5 === 0 ? null : `k${n % 7}` })).map((message) => start([message]))
    await done(Promise.all(more))
    expect(kafka.requests).toHaveLength(80)
    expect(kafka.mostInFlight).toBe(1)
    for (const partition of [0, 1]) {
      const numbers = kafka.requests.filter((request) => request.partition === partition).map((request) => request.sequence)
      expect(numbers).toEqual(numbers.map((_, i) => i))
    }
  })

  test('partitions and lanes go on without each other', async () => {
    const kafka = new FakeKafka({ t: 2 })
    const { start, done, publish, fence } = await openLane(kafka)
    await fence(1)
    await publish([one(1, 'a')])
    const held = partitionFor('a', 2)
    const other = ['b', 'c', 'd', 'e'].find((key) => partitionFor(key, 2) !== held) ?? ''
    kafka.fates.push({ kind: 'held' })
    const slow = start([one(2, 'a')])
    await kafka.arrived(2)
    expect(outcomes(await publish([one(3, other)]))).toEqual(['accepted'])
    expect(outcomes(await publish([one(4, 'a')], 1))).toEqual(['accepted'])
    kafka.release()
    expect(outcomes(await done(slow))).toEqual(['accepted'])
  })
})

describe('sequence numbers', () => {
  test('go on without a gap over refusals, and begin anew with each fence', async () => {
    const kafka = new FakeKafka({ t: 1 })
    const { publish, fence } = await openLane(kafka)
    await publish(messagesOf(3, 't'))
    kafka.fates.push({ kind: 'answer', code: 87, recordErrors: [0] })
    await publish([one(4), one(5, 'x')])
    await publish([one(6)])
    await fence()
    await publish([one(7), one(8)])
    await publish([one(9)])
    expect(kafka.requests.map((request) => [request.epoch, request.sequence])).toEqual(
      [
        [1, 0],
        [1, 3],
        [1, 3],
        [1, 4],
        [2, 0],
        [2, 2],
      ].map(([epoch = 0, sequence]) => [epoch - 1, sequence]),
    )
  })

  test('of a request that is answered after the next fence touch nothing of the new one', async () => {
    const kafka = new FakeKafka({ t: 1 })
    const { start, publish, done, fence } = await openLane(kafka)
    await publish([one(1)])
    kafka.fates.push({ kind: 'held' })
    const old = start([one(2), one(3)])
    await kafka.arrived(2)
    await fence()
    expect(outcomes(await publish([one(2), one(3), one(4)]))).toEqual(['accepted', 'accepted', 'accepted'])
    kafka.release()
    expect(outcomes(await done(old))[0]).toBe('unknown INVALID_PRODUCER_EPOCH')
    expect(outcomes(await publish([one(5)]))).toEqual(['accepted'])
    expect(kafka.values('t')).toEqual(['m1', 'm2', 'm3', 'm4', 'm5'])
    expect(kafka.requests.map((request) => request.sequence)).toEqual([0, 1, 0, 3])
  })

  test('a call that waits under an old fence sends nothing more', async () => {
    const kafka = new FakeKafka({ t: 1 })
    const { start, publish, done, fence } = await openLane(kafka)
    await publish([one(1)])
    kafka.fate = () => ({ kind: 'answer', code: 6 })
    const old = start([one(2)])
    await kafka.arrived(2)
    await fence()
    kafka.fate = () => null
    expect(outcomes(await done(old))).toEqual(['throttled LANE_MOVED'])
    expect(kafka.values('t')).toEqual(['m1'])
  })
})

describe('a key whose earlier message was refused', () => {
  test('sends no later one, though that was handed over while the partitions were still unknown', async () => {
    const kafka = new FakeKafka({ t: 3 })
    const { publisher, start, done } = await openLane(kafka)
    expect(publisher.group?.(one(1))).toBe('t')
    const gate = Promise.withResolvers<void>()
    kafka.metadataGate = gate.promise
    kafka.fates.push({ kind: 'answer', code: 29 })
    const first = start([one(1)])
    const second = start([one(2)])
    gate.resolve()
    expect(outcomes(await done(first))).toEqual(['transient TOPIC_AUTHORIZATION_FAILED'])
    expect(outcomes(await done(second))).toEqual(['throttled BEHIND_REFUSED'])
    expect(kafka.requests).toHaveLength(1)
  })

  test('sends no later one that waited in the same partition; other keys go', async () => {
    const kafka = new FakeKafka({ t: 1 })
    const { start, publish, done } = await openLane(kafka)
    await publish([one(1)])
    kafka.fates.push({ kind: 'answer', code: 87, recordErrors: [0] })
    const calls = [start([one(2)]), start([one(3), one(4, 'other')])]
    expect((await done(Promise.all(calls))).map(outcomes)).toEqual([['permanent INVALID_RECORD'], ['throttled BEHIND_REFUSED', 'accepted']])
    expect(outcomes(await publish([one(3)]))).toEqual(['accepted'])
  })

  test('is not overtaken when the topic gets more partitions while it is under way', async () => {
    const kafka = new FakeKafka({ t: 2 })
    const { start, publish, done, clock } = await openLane(kafka, { metadataMaxAgeMs: 500 })
    const moving = Array.from({ length: 50 }, (_, i) => `k${i}`).find((key) => partitionFor(key, 2) !== partitionFor(key, 3)) ?? ''
    await publish([one(1, moving)])
    kafka.fates.push({ kind: 'held' }, { kind: 'answer', code: 87, recordErrors: [0] })
    const first = start([one(2, moving)])
    const behindIt = start([one(3, moving)])
    await kafka.arrived(2)
    kafka.create('t', 3)
    await clock.advance(550)
    // Old enough: this one sees to it that the third partition is noticed, and still counts two.
    const waiting = start([one(4, moving)])
    await clock.advance(10)
    const after = start([one(5, moving)])
    await clock.advance(10)
    expect(kafka.requests).toHaveLength(2)
    kafka.release()
    expect((await done(Promise.all([first, behindIt, waiting, after]))).map(outcomes)).toEqual([
      ['accepted'],
      ['permanent INVALID_RECORD'],
      ['throttled BEHIND_REFUSED'],
      ['throttled BEHIND_REFUSED'],
    ])
    expect(outcomes(await publish([one(3, moving), one(4, moving), one(5, moving)]))).toEqual(['accepted', 'accepted', 'accepted'])
    expect([...kafka.values('t', partitionFor(moving, 2)), ...kafka.values('t', partitionFor(moving, 3))]).toEqual([
      'm1',
      'm2',
      'm3',
      'm4',
      'm5',
    ])
  })
})

describe('turns', () => {
  test('of one kind go together, but not past one that still waits', () => {
    const turns = new Turns()
    const two = turns.take(2)
    expect(turns.take(2).hasBegun).toBe(true)
    expect(turns.take(3).hasBegun).toBe(false)
    expect(turns.take(2).hasBegun).toBe(false)
    expect(two.hasBegun).toBe(true)
    expect(new Turns().take(null).hasBegun).toBe(true)
  })
})
