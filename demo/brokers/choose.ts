// Which broker the demo runs on: an address given, else Docker, else Java with Maven, else the embedded one. It says which, and why.
import { kafkaAvailability } from '../../servers/availability.ts'
import { textOf } from '../../src/core/index.ts'
import { NoServer } from '../no-server.ts'
import type { DemoBroker } from './broker.ts'

export type BrokerChoice = 'auto' | 'kafka' | 'memory'

export interface Choice {
  /** For people, one line. */
  readonly because: string
  /** @param tell told when another one is taken after all */
  start(tell: (text: string) => void): Promise<DemoBroker>
}

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
  if (found.available && found.by === 'docker') {
    return {
      because: found.reason,
      async start(tell) {
        try {
          return await (await import('./docker.ts')).startInDocker()
        } catch (error) {
          const next = withoutDocker(asked, kafkaAvailability())
          tell(`Docker can't run Kafka: ${textOf(error).split('\n')[0]}; ${next.because}`)
          return next.start(tell)
        }
      },
    }
  }
  return withoutDocker(asked, found)
}

function withoutDocker(asked: BrokerChoice, found: ReturnType<typeof kafkaAvailability>): Choice {
  if (found.available) return { because: found.reason, start: async () => (await import('./kafka.ts')).startOwnKafka() }
  if (asked === 'auto') return embedded(found.reason)
  throw new NoServer(
    `There is no Kafka to be had: ${found.reason}.\n  Set KAFKA_BROKERS, start Docker, or install Java 17 and Maven; --broker memory needs none of them.`,
  )
}

function embedded(reason: string): Choice {
  return { because: `${reason}: the embedded broker`, start: async () => (await import('./embedded/broker.ts')).startEmbedded() }
}
