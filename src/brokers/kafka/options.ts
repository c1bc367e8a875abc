// What `kafka(...)` takes. Every problem of a configuration is told at once, each with the nearest name that would have been right.
import type { ConnectionOptions } from 'node:tls'
import type { Message } from '../../core/index.ts'
import { OutriderError } from '../../core/index.ts'
import type { OwnProducer } from './client.ts'
import { fromJavaNames } from './java-names.ts'
import { didYouMean } from './nearest.ts'
import type { OwnProducerSettings } from './own-producer.ts'
import type { Address } from './wire.ts'

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

/** `KafkaOptions` checked and complete. */
export interface KafkaSettings {
  readonly bootstrap: readonly Address[]
  readonly clientId: string
  readonly tls: TlsOptions | null
  readonly sasl: SaslOptions | null
  readonly compression: Compression
  readonly publishTimeoutMs: number
  readonly connectTimeoutMs: number
  readonly maxRequestBytes: number
  readonly unknownTopicGraceMs: number
  readonly metadataMaxAgeMs: number
  readonly connectionsPerBroker: number
  readonly topic: (message: Message) => string
}

export const defaults = {
  clientId: 'outrider',
  compression: 'none',
  publishTimeoutMs: 5_000,
  connectTimeoutMs: 2_000,
  maxRequestBytes: 1_048_576,
  unknownTopicGraceMs: 30_000,
  metadataMaxAgeMs: 300_000,
  connectionsPerBroker: 4,
} as const

const compressions: ReadonlySet<string> = new Set(['none', 'gzip', 'snappy', 'lz4', 'zstd'])
const mechanisms: ReadonlySet<string> = new Set(['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512', 'OAUTHBEARER'])
const names: ReadonlySet<string> = new Set([...Object.keys(defaults), 'brokers', 'tls', 'sasl', 'topic', 'config'])

/** @throws OutriderError CONFIG_INVALID naming every problem */
export function settingsOf(given: KafkaOptions): KafkaSettings {
  const problems: string[] = []
  for (const name of Object.keys(given)) {
    if (!names.has(name)) problems.push(`unknown option ${name}${didYouMean(name, names)}`)
  }
  const java = fromJavaNames(given.config ?? {}, problems)
  for (const name of Object.keys(java) as (keyof KafkaOptions)[]) {
    if (given[name] !== undefined && JSON.stringify(given[name]) !== JSON.stringify(java[name])) {
      problems.push(`${name} is given twice, as an option and under config, with different values`)
    }
  }
  const options: Partial<KafkaOptions> = { ...java, ...withoutUndefined(given) }

  const number = (name: NumericOption, least: number): number => {
    const value = options[name] ?? defaults[name]
    wholeNumber(name, value, least, problems)
    return value
  }
  const settings: KafkaSettings = {
    bootstrap: addressesOf(options.brokers, problems),
    clientId: options.clientId ?? defaults.clientId,
    tls: options.tls === true ? {} : options.tls === undefined || options.tls === false ? null : options.tls,
    sasl: options.sasl ?? null,
    compression: options.compression ?? defaults.compression,
    publishTimeoutMs: number('publishTimeoutMs', 1),
    connectTimeoutMs: number('connectTimeoutMs', 1),
    maxRequestBytes: number('maxRequestBytes', 1),
    unknownTopicGraceMs: number('unknownTopicGraceMs', 0),
    metadataMaxAgeMs: number('metadataMaxAgeMs', 1),
    connectionsPerBroker: number('connectionsPerBroker', 1),
    topic: options.topic ?? ((message) => message.topic),
  }
  if (!compressions.has(settings.compression)) {
    problems.push(
      `compression must be one of ${[...compressions].join(', ')}, got ${settings.compression}${didYouMean(settings.compression, compressions)}`,
    )
  }
  if (settings.sasl !== null) saslProblems(settings.sasl, problems)
  refuse(problems)
  return settings
}

/** @throws OutriderError CONFIG_INVALID naming every problem */
export function ownProducerSettingsOf(given: OwnProducerOptions): OwnProducerSettings {
  const problems: string[] = []
  const known = new Set(['producer', 'publishTimeoutMs', 'maxRequestBytes', 'topic'])
  for (const name of Object.keys(given)) {
    if (names.has(name) && !known.has(name)) problems.push(`${name} is the producer's own matter when you bring one`)
    else if (!known.has(name)) problems.push(`unknown option ${name}${didYouMean(name, known)}`)
  }
  const { publishTimeoutMs = defaults.publishTimeoutMs, maxRequestBytes = defaults.maxRequestBytes } = given
  wholeNumber('publishTimeoutMs', publishTimeoutMs, 1, problems)
  wholeNumber('maxRequestBytes', maxRequestBytes, 1, problems)
  refuse(problems)
  return { publishTimeoutMs, maxRequestBytes, topic: given.topic ?? ((message) => message.topic) }
}

function refuse(problems: readonly string[]): void {
  if (problems.length === 0) return
  throw new OutriderError(
    'CONFIG_INVALID',
    `kafka(...) can't be used as it is configured:\n${problems.map((one) => `  - ${one}`).join('\n')}`,
    {
      hint: 'docs/kafka.md lists every option with its default.',
    },
  )
}

function wholeNumber(name: string, value: number, least: number, problems: string[]): void {
  if (!Number.isInteger(value) || value < least) problems.push(`${name} must be a whole number from ${least}, got ${String(value)}`)
}

type NumericOption = {
  [N in keyof typeof defaults]: (typeof defaults)[N] extends number ? N : never
}[keyof typeof defaults]

function saslProblems(sasl: SaslOptions, problems: string[]): void {
  if (!mechanisms.has(sasl.mechanism)) {
    problems.push(
      `sasl.mechanism must be one of ${[...mechanisms].join(', ')}, got ${sasl.mechanism}${didYouMean(sasl.mechanism, mechanisms)}`,
    )
    return
  }
  const needed = sasl.mechanism === 'OAUTHBEARER' ? (['token'] as const) : (['username', 'password'] as const)
  for (const name of needed) {
    if (sasl[name] === undefined) problems.push(`sasl.${name} is missing for ${sasl.mechanism}`)
  }
}

function addressesOf(brokers: string | readonly string[] | undefined, problems: string[]): Address[] {
  const list = (typeof brokers === 'string' ? brokers.split(',') : (brokers ?? [])).map((one) => one.trim()).filter((one) => one !== '')
  if (list.length === 0) problems.push('brokers is missing: give host:port of one broker or more')
  const addresses: Address[] = []
  for (const text of list) {
    // [::1]:9092 or host:9092; without a port Kafka's usual one.
    const match = /^(?:\[([^\]]+)\]|([^:[\]/]+))(?::(\d{1,5}))?$/.exec(text)
    const host = match?.[1] ?? match?.[2]
    const port = match?.[3] === undefined ? 9092 : Number(match[3])
    if (host === undefined || port < 1 || port > 65_535) problems.push(`brokers: "${text}" is not host:port`)
    else addresses.push({ host, port })
  }
  return addresses
}

function withoutUndefined(given: KafkaOptions): Partial<KafkaOptions> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}
