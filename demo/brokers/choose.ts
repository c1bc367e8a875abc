// Which broker the demo runs on: an address given, else Docker, else Java with Maven, else the embedded one. It says which, and why.
import { kafkaAvailability } from '../../servers/availability.ts'
import type { DemoBroker } from './broker.ts'

export type BrokerChoice = 'auto' | 'kafka' | 'memory'

export interface Choice {
  /** For people, one line. */
  readonly because: string
  start(): Promise<DemoBroker>
}

/** The machine can't give what was asked for. */
export class NoBroker extends Error {}

/** @param env where addresses are given: KAFKA_BROKERS, OUTRIDER_TEST_KAFKA_BROKERS */
export function chooseBroker(asked: BrokerChoice, env: Readonly<Record<string, string | undefined>> = process.env): Choice {
  if (asked === 'memory') return embedded('asked for')
  const name = ['KAFKA_BROKERS', 'OUTRIDER_TEST_KAFKA_BROKERS'].find((one) => (env[one] ?? '').trim() !== '')
  if (name !== undefined) {
    const brokers = (env[name] ?? '').split(',').map((one) => one.trim())
    return {
      because: `${name} is set: that Kafka is used, and never stopped`,
      start: async () => (await import('./kafka.ts')).existingKafka(brokers),
    }
  }
  const found = kafkaAvailability({ allowDocker: true })
  if (!found.available) {
    if (asked === 'kafka') {
      throw new NoBroker(
        `There is no Kafka to be had: ${found.reason}. Nothing was started.\n  Set KAFKA_BROKERS, start Docker, or install Java 17 and Maven; --broker memory needs none of them.`,
      )
    }
    return embedded(found.reason)
  }
  if (found.by === 'docker') return { because: found.reason, start: async () => (await import('./docker.ts')).startInDocker() }
  return { because: found.reason, start: async () => (await import('./kafka.ts')).startOwnKafka() }
}

function embedded(reason: string): Choice {
  return { because: `${reason}: the embedded broker`, start: async () => (await import('./embedded/broker.ts')).startEmbedded() }
}
