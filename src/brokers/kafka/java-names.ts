// Java's producer options by their own names. Those that would change what Outrider guarantees are refused with the reason, never ignored.
import { didYouMean } from '../../core/nearest.ts'
import type { Compression, KafkaOptions, SaslOptions, TlsOptions } from './option-types.ts'

type Value = string | number | boolean
type Options = { -readonly [N in keyof KafkaOptions]?: KafkaOptions[N] }

const numbers: Readonly<Record<string, 'publishTimeoutMs' | 'connectTimeoutMs' | 'maxRequestBytes' | 'metadataMaxAgeMs'>> = {
  'delivery.timeout.ms': 'publishTimeoutMs',
  'socket.connection.setup.timeout.ms': 'connectTimeoutMs',
  'max.request.size': 'maxRequestBytes',
  'metadata.max.age.ms': 'metadataMaxAgeMs',
}

/** Options that have one right value here. */
const fixed: Readonly<Record<string, { readonly values: readonly string[]; readonly because: string }>> = {
  acks: { values: ['all', '-1'], because: 'an event counts as delivered only when all in-sync replicas have it' },
  'enable.idempotence': { values: ['true'], because: "the lane's producer id is what keeps repeats and late bytes out" },
  'allow.auto.create.topics': { values: ['false'], because: 'Outrider never makes a topic' },
  'max.in.flight.requests.per.connection': { values: ['1'], because: 'one request is in flight for each lane and partition' },
}

/** Options whose work is done elsewhere. */
const elsewhere: Readonly<Record<string, string>> = {
  'batch.size': "the relay's batchSize decides how many messages go together",
  'linger.ms': 'the relay sends what it has read; nothing waits for company',
  'buffer.memory': "the relay's maxInFlight bounds what is held",
  'transactional.id': "the lane's fence does what Kafka's transactions would do here, at a fraction of the cost",
  'partitioner.class': "the partitioner is always equal to the Java client's default",
  'key.serializer': 'keys are text as UTF-8',
  'value.serializer': 'the payload is sent as the bytes it is',
  retries: "the relay's retry policy decides",
}

const own = [
  'bootstrap.servers',
  'client.id',
  'compression.type',
  'security.protocol',
  'sasl.mechanism',
  'sasl.jaas.config',
  'ssl.truststore.type',
  'ssl.truststore.certificates',
  'ssl.keystore.type',
  'ssl.keystore.certificate.chain',
  'ssl.keystore.key',
  'ssl.key.password',
]

/** All of Java's names that mean something here. */
export const javaNames: readonly string[] = [...own, ...Object.keys(numbers), ...Object.keys(fixed)]

/** Outrider's options from Java's; what is wrong is added to `problems`. */
export function fromJavaNames(config: Readonly<Record<string, Value>>, problems: string[]): Options {
  const options: Options = {}
  for (const [name, value] of Object.entries(config)) {
    const numeric = numbers[name]
    const only = fixed[name]
    if (numeric !== undefined) options[numeric] = Number(value)
    else if (only !== undefined) {
      if (!only.values.includes(String(value))) problems.push(`config: ${name} must be ${only.values[0]}, got ${value}: ${only.because}`)
    } else if (elsewhere[name] !== undefined) problems.push(`config: ${name} has no place here: ${elsewhere[name]}`)
    else if (!own.includes(name)) problems.push(`config: unknown option ${name}${didYouMean(name, javaNames)}`)
  }
  const text = (name: string): string | undefined => (config[name] === undefined ? undefined : String(config[name]))

  const brokers = text('bootstrap.servers')
  if (brokers !== undefined) options.brokers = brokers
  const clientId = text('client.id')
  if (clientId !== undefined) options.clientId = clientId
  const compression = text('compression.type')
  // Whether it is one of the five is checked with the options.
  if (compression !== undefined) options.compression = compression as Compression
  security(text, options, problems)
  return options
}

function security(text: (name: string) => string | undefined, options: Options, problems: string[]): void {
  const protocol = text('security.protocol') ?? 'PLAINTEXT'
  if (!['PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL'].includes(protocol)) {
    problems.push(`config: security.protocol must be PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL, got ${protocol}`)
    return
  }
  for (const name of ['ssl.truststore.type', 'ssl.keystore.type']) {
    const type = text(name)
    if (type !== undefined && type !== 'PEM') problems.push(`config: ${name} must be PEM, got ${type}: Node can't read Java's key stores`)
  }
  if (protocol.endsWith('SSL')) {
    const tls: TlsOptions = {}
    const ca = text('ssl.truststore.certificates')
    const cert = text('ssl.keystore.certificate.chain')
    const key = text('ssl.keystore.key')
    const passphrase = text('ssl.key.password')
    if (ca !== undefined) tls.ca = ca
    if (cert !== undefined) tls.cert = cert
    if (key !== undefined) tls.key = key
    if (passphrase !== undefined) tls.passphrase = passphrase
    options.tls = tls
  }
  if (protocol.startsWith('SASL')) {
    const mechanism = text('sasl.mechanism')
    if (mechanism === undefined) {
      problems.push(`config: sasl.mechanism is missing for ${protocol}`)
      return
    }
    const jaas = text('sasl.jaas.config')
    const username = jaasValue(jaas, 'username')
    const password = jaasValue(jaas, 'password')
    options.sasl = {
      mechanism: mechanism as SaslOptions['mechanism'],
      ...(username === undefined ? {} : { username }),
      ...(password === undefined ? {} : { password }),
    }
  }
}

function jaasValue(jaas: string | undefined, name: string): string | undefined {
  const found = new RegExp(`\\b${name}\\s*=\\s*(?:"((?:[^"\\\\]|\\\\.)*)"|'([^']*)'|([^\\s;]+))`).exec(jaas ?? '')
  return found === null ? undefined : (found[1]?.replaceAll(/\\(.)/g, '$1') ?? found[2] ?? found[3])
}
