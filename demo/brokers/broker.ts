// What the demo needs of a broker, whichever it is: something to start, stop and start again, and four kinds of clients.
import type { Publisher } from '../../src/core/index.ts'

/** Where the broker is: what the roles, each a process of its own, are told. */
export type BrokerAddress =
  | { readonly kind: 'kafka'; readonly brokers: readonly string[] }
  | { readonly kind: 'embedded'; readonly port: number }

/** The broker in the conductor's hands. */
export interface DemoBroker {
  /** For people: `real Kafka 4.4.0`. */
  readonly title: string
  readonly address: BrokerAddress
  /** Null: it isn't ours, so it is never stopped. */
  readonly outage: Outage | null
  createTopics(names: readonly string[]): Promise<void>
  /** Removes all that the demo made. Idempotent. */
  close(): Promise<void>
}

/** A broker that can be stopped and started again with its data. */
export interface Outage {
  stop(): Promise<void>
  /** Returns when it answers again. */
  start(): Promise<void>
  /** How long that takes, about, in milliseconds. */
  readonly startMs: number
}

/** A record as the demo's consumer and judge see it. */
export interface TopicRecord {
  readonly partition: number
  readonly key: string | null
  readonly value: Buffer
  readonly headers: Readonly<Record<string, string>>
}

/** What a service without an outbox has: a producer of its own. */
export interface NaiveProducer {
  /** Rejects when the broker did not confirm in time. */
  send(record: { readonly topic: string; readonly key: string; readonly value: string }): Promise<void>
}

/** The clients of a broker. Nothing is connected before it is used. */
export interface BrokerClients {
  publisher(publishTimeoutMs: number): Promise<Publisher>
  /** Resolves when it is connected. */
  producer(): Promise<NaiveProducer>
  /** Reads a topic from its start and goes on until the signal aborts, through any outage. */
  follow(topic: string, signal: AbortSignal): AsyncIterable<TopicRecord>
  /** All of a topic, from offset 0, with another client than `follow` has where there is one. */
  readonly readAll: (topic: string) => Promise<TopicRecord[]>
}
