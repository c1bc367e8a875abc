import { describe, expect, test } from 'vitest'
import { kafka } from '../../../../src/brokers/kafka/index.ts'
import type { KafkaOptions } from '../../../../src/brokers/kafka/index.ts'
import { settingsOf } from '../../../../src/brokers/kafka/options.ts'

const problems = (options: unknown): string => {
  try {
    kafka(options as KafkaOptions)
  } catch (error) {
    expect(error).toMatchObject({ name: 'OutriderError', code: 'CONFIG_INVALID' })
    return error instanceof Error ? error.message : ''
  }
  return ''
}

describe('options', () => {
  test('brokers as text with commas or as a list, with and without ports', () => {
    const wanted = [
      { host: 'a', port: 9092 },
      { host: 'b.example', port: 19092 },
      { host: '::1', port: 9093 },
    ]
    expect(settingsOf({ brokers: 'a, b.example:19092,[::1]:9093' }).bootstrap).toEqual(wanted)
    expect(settingsOf({ brokers: ['a', 'b.example:19092', '[::1]:9093'] }).bootstrap).toEqual(wanted)
  })

  test('defaults', () => {
    expect(settingsOf({ brokers: 'a' })).toMatchObject({
      clientId: 'outrider',
      tls: null,
      sasl: null,
      compression: 'none',
      publishTimeoutMs: 5_000,
      connectTimeoutMs: 2_000,
      maxRequestBytes: 1_048_576,
      unknownTopicGraceMs: 30_000,
      metadataMaxAgeMs: 300_000,
      connectionsPerBroker: 4,
    })
  })

  test('all problems are told at once, unknown names with the nearest', () => {
    const text = problems({ brokers: 'kafka://a', publishTimeout: 1, compression: 'zst', connectTimeoutMs: 0, maxRequestBytes: 1.5 })
    expect(text).toContain('unknown option publishTimeout (did you mean publishTimeoutMs?)')
    expect(text).toContain('"kafka://a" is not host:port')
    expect(text).toContain('compression must be one of none, gzip, snappy, lz4, zstd, got zst (did you mean zstd?)')
    expect(text).toContain('connectTimeoutMs must be a whole number from 1, got 0')
    expect(text).toContain('maxRequestBytes must be a whole number from 1, got 1.5')
  })

  test.each([[undefined], [''], [[]], [' , ']])('no brokers (%j) is said in words', (brokers) => {
    expect(problems({ brokers })).toContain('brokers is missing')
  })

  test('sasl says what it lacks', () => {
    expect(problems({ brokers: 'a', sasl: { mechanism: 'PLAIN', username: 'u' } })).toContain('sasl.password is missing for PLAIN')
    expect(problems({ brokers: 'a', sasl: { mechanism: 'SCRAM-SHA-265' } })).toContain('did you mean SCRAM-SHA-256?')
    expect(problems({ brokers: 'a', sasl: { mechanism: 'OAUTHBEARER' } })).toContain('sasl.token is missing')
  })
})

describe("Java's option names", () => {
  test('do what they do there', () => {
    const settings = settingsOf({
      config: {
        'bootstrap.servers': 'a:1,b:2',
        'client.id': 'shop',
        'compression.type': 'lz4',
        'max.request.size': '2000000',
        'delivery.timeout.ms': 7_000,
        'socket.connection.setup.timeout.ms': 900,
        'metadata.max.age.ms': 60_000,
        acks: 'all',
        'enable.idempotence': true,
      },
    })
    expect(settings).toMatchObject({
      bootstrap: [
        { host: 'a', port: 1 },
        { host: 'b', port: 2 },
      ],
      clientId: 'shop',
      compression: 'lz4',
      maxRequestBytes: 2_000_000,
      publishTimeoutMs: 7_000,
      connectTimeoutMs: 900,
      metadataMaxAgeMs: 60_000,
    })
  })

  test('TLS and SASL, with the log-in out of JAAS', () => {
    const config = {
      'security.protocol': 'SASL_SSL',
      'sasl.mechanism': 'SCRAM-SHA-512',
      'sasl.jaas.config': 'org.apache.kafka.common.security.scram.ScramLoginModule required username="ann" password="a\\"b;c";',
      'ssl.truststore.type': 'PEM',
      'ssl.truststore.certificates': 'CA',
      'ssl.keystore.certificate.chain': 'CERT',
      'ssl.keystore.key': 'KEY',
    }
    expect(settingsOf({ brokers: 'a', config })).toMatchObject({
      sasl: { mechanism: 'SCRAM-SHA-512', username: 'ann', password: 'a"b;c' },
      tls: { ca: 'CA', cert: 'CERT', key: 'KEY' },
    })
    expect(settingsOf({ brokers: 'a', config: { 'security.protocol': 'SSL' } })).toMatchObject({ tls: {}, sasl: null })
  })

  test.each([
    [{ acks: '1' }, 'acks must be all'],
    [{ 'enable.idempotence': 'false' }, 'enable.idempotence must be true'],
    [{ 'linger.ms': 5 }, 'linger.ms has no place here'],
    [{ 'transactional.id': 'x' }, 'transactional.id has no place here'],
    [{ 'compresion.type': 'lz4' }, 'unknown option compresion.type (did you mean compression.type?)'],
    [{ 'compression.type': 'lzma' }, 'compression must be one of'],
    [{ 'security.protocol': 'TLS' }, 'security.protocol must be PLAINTEXT'],
    [{ 'security.protocol': 'SASL_PLAINTEXT' }, 'sasl.mechanism is missing'],
    [{ 'ssl.truststore.type': 'JKS' }, 'ssl.truststore.type must be PEM'],
    [{ 'max.request.size': 'big' }, 'maxRequestBytes must be a whole number'],
  ])('%j is refused with the reason', (config, reason) => {
    expect(problems({ brokers: 'a', config })).toContain(reason)
  })

  test('an option given both ways must agree', () => {
    expect(problems({ brokers: 'a', compression: 'gzip', config: { 'compression.type': 'lz4' } })).toContain('compression is given twice')
    expect(settingsOf({ brokers: 'a', compression: 'lz4', config: { 'compression.type': 'lz4' } }).compression).toBe('lz4')
  })
})
