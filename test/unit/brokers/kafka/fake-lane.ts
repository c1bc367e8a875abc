import { createKafkaPublisher } from '../../../../src/brokers/kafka/publisher.ts'
import { settingsOf } from '../../../../src/brokers/kafka/options.ts'
import type { KafkaOptions } from '../../../../src/brokers/kafka/index.ts'
import type { Message, Publisher, Verdict } from '../../../../src/core/index.ts'
import { createTestClock } from '../../../../src/testing/clock.ts'
import type { TestClock } from '../../../../src/testing/clock.ts'
import { fenceOf } from '../../../conformance/kafka-lane.ts'
import type { FakeKafka } from './fake-kafka.ts'

export interface FakeLane {
  readonly publisher: Publisher
  readonly clock: TestClock
  /** Publishes as lane 0 without moving time. */
  readonly start: (batch: readonly Message[], lane?: number) => Promise<Verdict[]>
  /** The same, moving time on until it is done. */
  readonly publish: (batch: readonly Message[], lane?: number) => Promise<Verdict[]>
  /** Moves time on until `work` is done. */
  readonly done: <T>(work: Promise<T>) => Promise<T>
  /** Takes the next fence of a lane, as a relay with the lane's row would, and enters it. */
  readonly fence: (lane?: number) => Promise<Uint8Array>
}

/** A publisher with lane 0 under a fence, on a Kafka in memory and on time that stands still. */
export async function openLane(kafka: FakeKafka, options: Partial<KafkaOptions> = {}): Promise<FakeLane> {
  const clock = createTestClock()
  const publisher = createKafkaPublisher(settingsOf({ brokers: 'node1:9092', publishTimeoutMs: 1_000, ...options }), kafka, clock)
  const stored = new Map<number, Uint8Array>()
  const signal = new AbortController().signal
  const done = async <T>(work: Promise<T>): Promise<T> => {
    let isDone = false
    void work.then(
      () => (isDone = true),
      () => (isDone = true),
    )
    for (let steps = 0; steps < 2_000; steps++) {
      if (isDone) return work
      await clock.advance(5)
    }
    throw new Error('still not done after 10 s of its time')
  }
  const start = (batch: readonly Message[], lane = 0): Promise<Verdict[]> => publisher.publish(batch, { lane, signal })
  const made: FakeLane = {
    publisher,
    clock,
    start,
    done,
    publish: (batch, lane) => done(start(batch, lane)),
    async fence(lane = 0) {
      const fence = await done(fenceOf(publisher).advance(lane, stored.get(lane) ?? null))
      stored.set(lane, fence)
      fenceOf(publisher).enter(lane, fence)
      return fence
    },
  }
  await made.fence()
  return made
}
