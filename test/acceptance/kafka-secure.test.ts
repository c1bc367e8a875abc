// TLS and SASL against a real broker that asks for both.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createFolder, removeFolder } from '../../servers/folder.ts'
import { KAFKA_VERSION, kafkaJars, newClusterId, writeNode } from '../../servers/kafka-files.ts'
import { brokersOf, createTopicOn } from '../../servers/kafka-topics.ts'
import { freePort } from '../../servers/port.ts'
import { launch, until } from '../../servers/process.ts'
import type { ServerProcess } from '../../servers/process.ts'
import type { KafkaOptions } from '../../src/brokers/kafka/index.ts'
import { openPublisher, outcomes } from '../conformance/kafka-lane.ts'
import type { TestPublisher } from '../conformance/kafka-lane.ts'
import { messagesOf, readValues } from '../conformance/kafka-topic.ts'
import { describeKafka } from '../setup/index.ts'

const PASSWORD = 'only-for-tests'
const folder = createFolder('kafka-secure')
let server: ServerProcess | undefined
let plain = ''
let secure = ''
let ca = ''
const opened: TestPublisher[] = []

afterAll(async () => {
  await Promise.all(opened.map(({ publisher }) => publisher.close()))
  await server?.end('SIGKILL', 10_000)
  removeFolder(folder)
})

/** A key and a certificate for 127.0.0.1, made by the Java that runs the broker. */
function makeCertificate(): string {
  const store = join(folder, 'keys.p12')
  const into = ['-keystore', store, '-storetype', 'PKCS12', '-storepass', PASSWORD, '-alias', 'broker']
  execFileSync(
    'keytool',
    ['-genkeypair', ...into, '-keyalg', 'RSA', '-dname', 'CN=localhost', '-ext', 'san=ip:127.0.0.1', '-validity', '2'],
    {
      stdio: 'ignore',
    },
  )
  execFileSync('keytool', ['-exportcert', '-rfc', ...into, '-file', join(folder, 'ca.pem')], { stdio: 'ignore' })
  ca = readFileSync(join(folder, 'ca.pem'), 'utf8')
  return store
}

async function startSecure(): Promise<void> {
  const [port, securePort, controller] = [await freePort(), await freePort(), await freePort()]
  const store = makeCertificate()
  const jars = await kafkaJars(KAFKA_VERSION)
  const dir = join(folder, 'node')
  mkdirSync(dir)
  const listeners = `PLAINTEXT://127.0.0.1:${port},SECURE://127.0.0.1:${securePort}`
  const jaas = `org.apache.kafka.common.security.plain.PlainLoginModule required user_ann="${PASSWORD}";`
  const config = await writeNode(dir, {
    jars,
    version: KAFKA_VERSION,
    clusterId: newClusterId(),
    nodeId: 1,
    properties: {
      'process.roles': 'broker,controller',
      'node.id': 1,
      'controller.quorum.voters': `1@127.0.0.1:${controller}`,
      listeners: `${listeners},CONTROLLER://127.0.0.1:${controller}`,
      'advertised.listeners': listeners,
      'controller.listener.names': 'CONTROLLER',
      'inter.broker.listener.name': 'PLAINTEXT',
      'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:SASL_SSL',
      'offsets.topic.replication.factor': 1,
      'auto.create.topics.enable': 'false',
      'listener.name.secure.ssl.keystore.location': store,
      'listener.name.secure.ssl.keystore.type': 'PKCS12',
      'listener.name.secure.ssl.keystore.password': PASSWORD,
      'listener.name.secure.ssl.key.password': PASSWORD,
      'listener.name.secure.sasl.enabled.mechanisms': 'PLAIN',
      'listener.name.secure.plain.sasl.jaas.config': jaas,
    },
  })
  const log = join(folder, 'server.log')
  const args = ['-Xmx512m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-cp', join(jars, '*'), 'kafka.Kafka', config]
  const own = launch({ command: 'java', args, log, cwd: dir, env: { CLASSPATH: '' } })
  server = own
  plain = `127.0.0.1:${port}`
  secure = `127.0.0.1:${securePort}`
  await until('Kafka with TLS and SASL', async () => ((await brokersOf(plain)).includes(1) ? true : undefined), { server: own, log })
}

async function open(options: Partial<KafkaOptions>, lanes = 1): Promise<TestPublisher> {
  const made = await openPublisher({ brokers: secure, ...options }, { lanes })
  opened.push(made)
  return made
}

const sasl = { mechanism: 'PLAIN', username: 'ann', password: PASSWORD } as const

describeKafka('a broker with TLS and SASL', () => {
  beforeAll(startSecure)

  test('takes messages from whoever trusts its certificate and has the password', async () => {
    await createTopicOn([plain], 'orders')
    const { publish } = await open({ tls: { ca }, sasl })
    expect(outcomes(await publish(messagesOf(3, 'orders')))).toEqual(['accepted', 'accepted', 'accepted'])
    expect(await readValues([plain], 'orders')).toEqual(['m1', 'm2', 'm3'])
  })

  test("by Java's option names too", async () => {
    await createTopicOn([plain], 'java')
    const { publish } = await open({
      config: {
        'security.protocol': 'SASL_SSL',
        'sasl.mechanism': 'PLAIN',
        'sasl.jaas.config': `org.apache.kafka.common.security.plain.PlainLoginModule required username="ann" password="${PASSWORD}";`,
        'ssl.truststore.type': 'PEM',
        'ssl.truststore.certificates': ca,
      },
    })
    expect(outcomes(await publish(messagesOf(1, 'java')))).toEqual(['accepted'])
  })

  test.each([
    ['a certificate that nobody vouches for', () => ({ tls: true, sasl }), /self.signed certificate/],
    ['a wrong password', () => ({ tls: { ca }, sasl: { ...sasl, password: 'wrong' } }), /[Aa]uthentication failed/],
    ['no TLS where there must be', () => ({ sasl }), /TLS|closed|timed out/],
  ] as const)('%s is told by check, with the address', async (_what, options, reason) => {
    const { publisher } = await open({ ...options(), connectTimeoutMs: 1_500 }, 0)
    const failure = expect(publisher.check()).rejects
    await failure.toMatchObject({ code: 'BROKER_UNREACHABLE', message: expect.stringContaining(secure) })
    await expect(publisher.check()).rejects.toThrow(reason)
  })
})
