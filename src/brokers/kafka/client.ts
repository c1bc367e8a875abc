// A Kafka producer of the user's own, by its shape: nothing of its library is imported.
import { OutriderError } from '../../core/index.ts'
import type { WireRecord } from './wire.ts'

/** kafkajs, and Confluent's `KafkaJS` class, which looks like it. */
export interface KafkaJsProducer {
  connect(): Promise<void>
  send(record: { topic: string; messages: KafkaJsMessage[]; acks?: number }): Promise<unknown>
  sendBatch(batch: never): Promise<unknown>
}

export interface KafkaJsMessage {
  key: Buffer | null
  value: Buffer | null
  headers: Record<string, Buffer>
  timestamp: string
}

/** The `Producer` class of @platformatic/kafka. */
export interface PlatformaticProducer {
  send(options: { messages: PlatformaticMessage[]; acks?: number; autocreateTopics?: boolean }): Promise<unknown>
  metadata(options: { topics: string[] }): Promise<unknown>
}

export interface PlatformaticMessage {
  topic: string
  key?: Buffer
  value?: Buffer
  headers?: Map<Buffer, Buffer>
  timestamp?: bigint
}

export type OwnProducer = KafkaJsProducer | PlatformaticProducer

/** What is done with a producer, whoever made it. */
export interface Sender {
  /** Connects if the producer has to be connected. */
  connect(): Promise<void>
  /** Sends records of one topic. Resolves with where they went, as far as the producer tells: `partition` and base `offset`. */
  send(topic: string, records: readonly WireRecord[]): Promise<readonly Place[]>
}

export interface Place {
  readonly partition: number
  readonly offset: bigint
}

/** @throws OutriderError CONFIG_INVALID when the shape is none that is known */
export function senderOf(producer: unknown): Sender {
  if (has(producer, 'send', 'sendBatch', 'connect')) return kafkaJsSender(producer as unknown as KafkaJsProducer)
  if (has(producer, 'send', 'metadata', 'close')) return platformaticSender(producer as unknown as PlatformaticProducer)
  const hint = has(producer, 'produce', 'poll')
    ? "This looks like node-rdkafka's own interface. Take Confluent's promise-based one: new KafkaJS.Kafka(...).producer()."
    : 'Give a producer of kafkajs, of Confluent (KafkaJS.Kafka), or the Producer of @platformatic/kafka.'
  throw new OutriderError(
    'CONFIG_INVALID',
    `kafka({ producer }) got ${describe(producer)}, which is no producer that Outrider knows. Nothing was sent.`,
    {
      hint,
    },
  )
}

function kafkaJsSender(producer: KafkaJsProducer): Sender {
  // Confluent's takes `acks` when the producer is made, and refuses it here.
  const acks = has(producer, 'isIdempotent') ? { acks: -1 } : {}
  return {
    connect: () => producer.connect(),
    async send(topic, records) {
      const messages = records.map(({ key, value, headers, timestamp }) => ({
        key,
        value,
        headers: Object.fromEntries(Array.from(headers, ([name, bytes]) => [name.toString(), bytes])),
        timestamp: String(timestamp),
      }))
      return placesIn(await producer.send({ topic, messages, ...acks }), 'baseOffset')
    },
  }
}

function platformaticSender(producer: PlatformaticProducer): Sender {
  return {
    connect: async () => {},
    async send(_topic, records) {
      const messages = records.map(({ topic, key, value, headers, timestamp }) => ({
        topic,
        headers: new Map(headers),
        timestamp,
        ...(key === null ? {} : { key }),
        // A tombstone is an absent value here too.
        ...({ value } as { value?: Buffer }),
      }))
      const answer = await producer.send({ messages, acks: -1, autocreateTopics: false })
      return placesIn(typeof answer === 'object' && answer !== null && 'offsets' in answer ? answer.offsets : [], 'offset')
    },
  }
}

function placesIn(answer: unknown, offsetName: string): Place[] {
  if (!Array.isArray(answer)) return []
  return answer.flatMap((one: Record<string, unknown>) => {
    const offset = one[offsetName] ?? one['offset']
    const isOffset = typeof offset === 'bigint' || typeof offset === 'number' || (typeof offset === 'string' && /^-?\d+$/.test(offset))
    return isOffset && typeof one['partition'] === 'number' ? [{ partition: one['partition'], offset: BigInt(offset) }] : []
  })
}

function has<N extends string>(value: unknown, ...names: N[]): value is Record<N, (...args: unknown[]) => unknown> {
  return (
    typeof value === 'object' && value !== null && names.every((name) => typeof (value as Record<string, unknown>)[name] === 'function')
  )
}

function describe(value: unknown): string {
  if (typeof value !== 'object' || value === null) return value === null ? 'null' : `a ${typeof value}`
  return `an object of ${value.constructor?.name ?? 'no class'}`
}
