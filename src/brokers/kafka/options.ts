// What `kafka(...)` takes. Every problem of a configuration is told at once, each with the nearest name that would have been right.
import type { Message } from '../../core/index.ts'
import { OutriderError } from '../../core/index.ts'
import { fromJavaNames } from './java-names.ts'
import { didYouMean } from '../../core/nearest.ts'
import type { Compression, KafkaOptions, OwnProducerOptions, SaslOptions, TlsOptions } from './option-types.ts'
import type { OwnProducerSettings } from './own-producer.ts'
import type { Address } from './wire.ts'

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
