// What `kafka(...)` takes.
import type { ConnectionOptions } from 'node:tls'
import type { Message } from '../../core/index.ts'
import type { OwnProducer } from './client.ts'

export type Compression = 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd'

/** Node's own TLS options: `ca`, `cert`, `key`, `passphrase`, `servername`, `rejectUnauthorized` ... */
export type TlsOptions = ConnectionOptions

type Secret = string | (() => string | Promise<string>)

export interface SaslOptions {
  readonly mechanism: 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512' | 'OAUTHBEARER'
  readonly username?: Secret
  readonly password?: Secret
  /** For OAUTHBEARER. A function is asked again at each log-in. */
  readonly token?: Secret
}

export interface KafkaOptions {
  /**
   * Where to begin: `host:port` of one or more brokers, as a list or as text with commas. The others are found from there.
   * Name two or three, so that a start doesn't hang on one machine. Needed here or, under Java's name `bootstrap.servers`, in `config`.
   */
  readonly brokers?: string | readonly string[]
  /** The name under which the brokers log, meter and throttle this client. Java's name: `client.id`. @default 'outrider' */
  readonly clientId?: string
  /** `true` or Node's TLS options switch TLS on. Costs CPU for each byte. @default false */
  readonly tls?: boolean | TlsOptions
  /** How to log in. @default none */
  readonly sasl?: SaslOptions
  /**
   * How batches are compressed. Touch it when the network or the disks of the brokers are what limits; `lz4` and `zstd` cost the relay some CPU
   * on its main thread, `gzip` more but on another one. With it, a topic's own size limit is known only when the broker refuses. Java's name: `compression.type`.
   * @default 'none'
   */
  readonly compression?: Compression
  /**
   * Longest time that one publish takes, in milliseconds, with all tries and waiting. After that the outcome counts as unknown and the messages are sent again.
   * Raise it where brokers or replicas are far away; the relay's lease must be at least twice as long. Java's name: `delivery.timeout.ms`. @default 5000
   */
  readonly publishTimeoutMs?: number
  /** Longest time to wait for a connection with its TLS and SASL, in milliseconds. Java's name: `socket.connection.setup.timeout.ms`. @default 2000 */
  readonly connectTimeoutMs?: number
  /**
   * Largest record and largest batch, in bytes on the wire before compression. A larger message fails at once; batches are cut to fit.
   * Raise it together with the topic's `max.message.bytes`. Java's name: `max.request.size`. @default 1048576
   */
  readonly maxRequestBytes?: number
  /**
   * How long a topic may be missing before its messages fail, in milliseconds. Outrider never makes a topic. Raise it where topics are made long after
   * the first event; 0 fails at once. @default 30000
   */
  readonly unknownTopicGraceMs?: number
  /** Age after which partitions and leaders are asked for again even when nothing goes wrong, in milliseconds. Java's name: `metadata.max.age.ms`. @default 300000 */
  readonly metadataMaxAgeMs?: number
  /**
   * Connections to one broker; the lanes share them. A broker answers the requests of one connection one after another, so more of them help where
   * waiting for replicas takes long. @default 4
   */
  readonly connectionsPerBroker?: number
  /** The Kafka topic for a message, where it isn't the message's own. Messages of one key must stay in one topic. @default the message's topic */
  readonly topic?: (message: Message) => string
  /** Java's option names, verbatim, for those who bring a producer's configuration along: `{ 'compression.type': 'lz4' }`. An option given both ways must agree. */
  readonly config?: Readonly<Record<string, string | number | boolean>>
}

/** Publishing through a producer of your own: see docs/kafka.md for what is lost with it. */
export interface OwnProducerOptions {
  /** A producer of kafkajs, of Confluent (`KafkaJS.Kafka`), or the `Producer` of @platformatic/kafka. Outrider connects it and never ends it. */
  readonly producer: OwnProducer
  /**
   * Longest time to wait for one send, in milliseconds; the producer's own retries must fit into it.
   * @default 5000
   */
  readonly publishTimeoutMs?: number
  /** Largest record and largest send, in bytes on the wire. A larger message fails at once. @default 1048576 */
  readonly maxRequestBytes?: number
  /** The Kafka topic for a message, where it isn't the message's own. @default the message's topic */
  readonly topic?: (message: Message) => string
}
