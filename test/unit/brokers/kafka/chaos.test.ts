// Random faults with a seed, a relay that follows the rules, and a Kafka that follows its own: nothing lost, first occurrences in order, and no old
// message after the newest of its key. The last one is the fence's work: without it, it doesn't hold.
import { describe, expect, test } from 'vitest'
import { partitionFor } from '../../../../src/brokers/kafka/index.ts'
import type { ProduceRequest } from '../../../../src/brokers/kafka/wire.ts'
import type { Message } from '../../../../src/core/index.ts'
import { fenceOf } from '../../../conformance/kafka-lane.ts'
import { messageOf } from '../../../conformance/kafka-topic.ts'
import { FakeKafka } from './fake-kafka.ts'
import type { Fate } from './fake-kafka.ts'
import { openLane } from './fake-lane.ts'

const MESSAGES = 150
const KEYS = 5
const PARTITIONS = 2

interface Found {
  readonly lost: number
  readonly reordered: number
  /** Keys whose last record isn't their newest message. */
  readonly stale: number
  readonly faults: number
}

async function run(seed: number, isFenced: boolean): Promise<Found> {
  let state = seed
  const random = (): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return (state >>> 8) / 0x800000
  }
  const kafka = new FakeKafka({ t: PARTITIONS })
  const late: ProduceRequest[] = []
  let faults = 0
  const lane = await openLane(kafka, { publishTimeoutMs: 200 })
  kafka.fate = (request): Fate | null => {
    if (random() < 0.2) for (const one of late.splice(0)) kafka.append(one)
    const dice = random()
    if (dice > 0.4) return null
    faults += 1
    if (dice > 0.32) return { kind: 'lost', stored: true }
    if (dice > 0.24) return { kind: 'lost', stored: false }
    if (dice > 0.2) return { kind: 'storedBut', code: 7 }
    if (dice > 0.16) return { kind: 'answer', code: 6 }
    // Under way, and still so when nobody waits for it any more.
    late.push(request)
    return { kind: 'held' }
  }

  const all = Array.from({ length: MESSAGES }, (_, i) => messageOf({ topic: 't', seq: BigInt(i + 1), key: `k${i % KEYS}` }))
  const accepted = new Set<string>()
  let next = 0
  let pending: Message[] = []
  for (let rounds = 0; (pending.length > 0 || next < all.length) && rounds < 2_000; rounds++) {
    while (pending.length < 6 && next < all.length) pending.push(all[next++] as Message)
    const verdicts = await lane.publish(pending)
    pending.forEach((message, i) => verdicts[i]?.kind === 'accepted' && accepted.add(message.id))
    pending = pending.filter((message) => !accepted.has(message.id))
    if (verdicts.some((one) => one.kind === 'refused' && one.class === 'unknown')) {
      if (isFenced) await lane.fence()
      else fenceOf(lane.publisher).enter(0, await lane.done(fenceOf(lane.publisher).advance(0, null)))
    }
  }
  for (const one of late.splice(0)) kafka.append(one)

  const newest = new Map(all.map((message) => [message.key ?? '', `m${message.seq}`]))
  let reordered = 0
  let stale = 0
  const seen = new Set<string>()
  for (let partition = 0; partition < PARTITIONS; partition++) {
    const values = kafka.values('t', partition)
    for (const value of values) {
      const number = Number(value.slice(1))
      if (!seen.has(value) && number > KEYS && !seen.has(`m${number - KEYS}`)) reordered += 1
      seen.add(value)
    }
    for (const [key, value] of newest) {
      if (partitionFor(key, PARTITIONS) !== partition) continue
      const last = values.findLast((one) => `k${(Number(one.slice(1)) - 1) % KEYS}` === key)
      if (last !== value) stale += 1
    }
  }
  return {
    lost: MESSAGES - all.filter((message) => accepted.has(message.id) && seen.has(`m${message.seq}`)).length,
    reordered,
    stale,
    faults,
  }
}

describe('random faults', () => {
  test.each(Array.from({ length: 30 }, (_, i) => i + 1))('seed %i', async (seed) => {
    const found = await run(seed, true)
    expect(found).toMatchObject({ lost: 0, reordered: 0, stale: 0 })
    expect(found.faults).toBeGreaterThan(10)
  })

  test('control: with a new producer id for each resend, old messages end up after newer ones', async () => {
    const found = await Promise.all(Array.from({ length: 30 }, (_, i) => run(i + 1, false)))
    expect(found.reduce((sum, one) => sum + one.lost + one.reordered, 0)).toBe(0)
    expect(found.reduce((sum, one) => sum + one.stale, 0)).toBeGreaterThan(0)
  })
})
