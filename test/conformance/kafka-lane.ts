// A publisher with its lanes under a fence, as the relay would have it; optionally behind a proxy that fails on command.
import { createWire } from '../../src/brokers/kafka/driver.ts'
import { systemClock } from '../../src/brokers/kafka/kafka.ts'
import { settingsOf } from '../../src/brokers/kafka/options.ts'
import type { KafkaOptions } from '../../src/brokers/kafka/option-types.ts'
import { createKafkaPublisher } from '../../src/brokers/kafka/publisher.ts'
import type { Address, Wire } from '../../src/brokers/kafka/wire.ts'
import type { Fence, Message, Publisher, Verdict } from '../../src/core/index.ts'

export interface TestPublisher {
  readonly publisher: Publisher
  /** Publishes as lane 0 with a signal that never aborts. */
  readonly publish: (batch: readonly Message[], lane?: number) => Promise<Verdict[]>
  /** Takes the next fence of a lane and enters it. */
  readonly fence: (lane?: number) => Promise<Uint8Array>
}

const never = new AbortController().signal

/** @param map where to connect instead of a broker's own address: the broker's advertised one would go past a proxy */
export async function openPublisher(
  options: KafkaOptions,
  { lanes = 1, map, wire }: { lanes?: number; map?: (address: Address) => Address; wire?: Wire } = {},
): Promise<TestPublisher> {
  // Longer than the default: these tests share their machine with many others.
  const settings = settingsOf({ publishTimeoutMs: 20_000, connectTimeoutMs: 5_000, ...options })
  const real = wire ?? createWire({ ...settings, requestTimeoutMs: settings.publishTimeoutMs + 1_000 }, map)
  const publisher = createKafkaPublisher(settings, real, systemClock)
  const stored = new Map<number, Uint8Array>()
  const test: TestPublisher = {
    publisher,
    publish: (batch, lane = 0) => publisher.publish(batch, { lane, signal: never }),
    async fence(lane = 0) {
      const fence = await fenceOf(publisher).advance(lane, stored.get(lane) ?? null)
      stored.set(lane, fence)
      fenceOf(publisher).enter(lane, fence)
      return fence
    },
  }
  for (let lane = 0; lane < lanes; lane++) await test.fence(lane)
  return test
}

export function fenceOf(publisher: Publisher): Fence {
  if (publisher.fence === undefined) throw new Error('a publisher without a fence')
  return publisher.fence
}

/** What became of each message, in short: `accepted`, or the refusal's class and code. */
export function outcomes(verdicts: readonly Verdict[]): string[] {
  return verdicts.map((one) => (one.kind === 'accepted' ? 'accepted' : `${one.class} ${one.code}`))
}
