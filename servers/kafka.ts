// A real Kafka of one's own in KRaft mode: one node that is broker and controller, or three such nodes in three processes.
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createFolder, removeFolder } from './folder.ts'
import { brokersOf, createTopicOn, type TopicOptions } from './kafka-topics.ts'
import { KAFKA_VERSION, kafkaJars, newClusterId, writeNode } from './kafka-files.ts'
import { freePort } from './port.ts'
import { launch, until, type ServerProcess } from './process.ts'

export interface KafkaOptions {
  /** @default 1 */
  readonly nodes?: 1 | 3
  /** @default '4.4.0' */
  readonly version?: string
  /** Broker settings beside the defaults, such as `{ 'message.max.bytes': 2_000_000 }`. */
  readonly properties?: Readonly<Record<string, string | number>>
  /** Further listeners of the first node, each told to its clients under another port: that of a proxy in front of it. */
  readonly ways?: readonly KafkaWay[]
  /** Flags of the Java machine. The default starts fast; for a benchmark leave the second compiler on. */
  readonly jvm?: readonly string[]
}

export interface KafkaWay {
  readonly port: number
  readonly advertisedPort: number
}

export interface KafkaNode {
  readonly id: number
  readonly port: number
  readonly pid: number
  readonly log: string
  /** SIGKILL, as in a crash. */
  kill(): Promise<void>
  /** A controlled shutdown; leaders move away first. */
  stop(): Promise<void>
  /** The same data, the same port again; returns when the cluster counts it as alive. Idempotent. */
  start(): Promise<void>
  /** SIGSTOP: connections stay open and nothing answers. */
  suspend(): void
  resume(): void
}

export interface KafkaCluster {
  /** `host:port` of each node. */
  readonly brokers: string[]
  readonly version: string
  readonly nodes: readonly KafkaNode[]
  /** Returns when every partition has a leader and all its replicas. */
  createTopic(name: string, options?: TopicOptions): Promise<void>
  /** Ends all nodes and removes their data. Idempotent. */
  stop(): Promise<void>
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

const FAST_START = ['-Xmx512m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1']

/** Starts Kafka and waits until every node is known to the cluster and answers. The first time Maven fetches the jars. */
export async function startKafka(options: KafkaOptions = {}): Promise<KafkaCluster> {
  const folder = createFolder('kafka')
  const started: Node[] = []
  const close = async (): Promise<void> => {
    await Promise.all(started.map((node) => node.end()))
    removeFolder(folder)
  }
  try {
    return await startIn(folder, options, started, close)
  } catch (error) {
    await close()
    throw error
  }
}

interface Node extends KafkaNode {
  end(): Promise<void>
}

async function startIn(folder: string, options: KafkaOptions, started: Node[], close: () => Promise<void>): Promise<KafkaCluster> {
  const version = options.version ?? KAFKA_VERSION
  const jars = await kafkaJars(version)
  const clusterId = newClusterId()
  const places: Place[] = []
  for (let id = 1; id <= (options.nodes ?? 1); id++) places.push({ id, port: await freePort(), controllerPort: await freePort() })
  const brokers = places.map((place) => `127.0.0.1:${place.port}`)
  for (const place of places) {
    const dir = join(folder, `node-${place.id}`)
    await mkdir(dir)
    const ways = place.id === 1 ? (options.ways ?? []) : []
    const properties = { ...propertiesOf(place, places, ways), ...options.properties }
    const config = await writeNode(dir, { jars, version, clusterId, nodeId: place.id, properties })
    started.push(bootable(place, places.length, { dir, config, jars, jvm: options.jvm ?? FAST_START }))
  }
  await Promise.all(started.map((node) => node.start()))
  return {
    brokers,
    version,
    nodes: started,
    createTopic: (name, topic) => createTopicOn(brokers, name, topic),
    stop: close,
    close,
    [Symbol.asyncDispose]: close,
  }
}

interface Place {
  readonly id: number
  readonly port: number
  readonly controllerPort: number
}

function propertiesOf(place: Place, all: readonly Place[], ways: readonly KafkaWay[]): Record<string, string | number> {
  const listed = (from: (way: KafkaWay, name: string) => string): string => ways.map((way, i) => `,${from(way, `WAY${i}`)}`).join('')
  const copies = Math.min(all.length, 3)
  return {
    'process.roles': 'broker,controller',
    'node.id': place.id,
    'controller.quorum.voters': all.map((one) => `${one.id}@127.0.0.1:${one.controllerPort}`).join(','),
    listeners: `PLAINTEXT://127.0.0.1:${place.port},CONTROLLER://127.0.0.1:${place.controllerPort}${listed(({ port }, name) => `${name}://127.0.0.1:${port}`)}`,
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${place.port}${listed(({ advertisedPort }, name) => `${name}://127.0.0.1:${advertisedPort}`)}`,
    'controller.listener.names': 'CONTROLLER',
    'listener.security.protocol.map': `PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT${listed((_, name) => `${name}:PLAINTEXT`)}`,
    'offsets.topic.replication.factor': copies,
    'offsets.topic.num.partitions': 4,
    'transaction.state.log.replication.factor': copies,
    'transaction.state.log.num.partitions': 4,
    'transaction.state.log.min.isr': Math.min(copies, 2),
    'group.initial.rebalance.delay.ms': 0,
    'auto.create.topics.enable': 'false',
    // A killed broker is noticed, and let in again, within a few seconds.
    'broker.session.timeout.ms': 3_000,
    'broker.heartbeat.interval.ms': 300,
    'controller.quorum.election.timeout.ms': 500,
    'controller.quorum.fetch.timeout.ms': 1_500,
    'replica.lag.time.max.ms': 5_000,
    'num.network.threads': 2,
    'num.io.threads': 4,
    'log.cleaner.dedupe.buffer.size': 4_194_304,
  }
}

function bootable(place: Place, size: number, files: { dir: string; config: string; jars: string; jvm: readonly string[] }): Node {
  const log = join(files.dir, 'server.log')
  const args = [...files.jvm, '-cp', join(files.jars, '*'), 'kafka.Kafka', files.config]
  let server: ServerProcess | undefined
  return {
    id: place.id,
    port: place.port,
    log,
    get pid() {
      return server?.pid ?? 0
    },
    kill: async () => server?.end('SIGKILL', 10_000),
    stop: async () => server?.end('SIGTERM', 30_000),
    end: async () => server?.end('SIGKILL', 10_000),
    async start() {
      if (server?.running === true) return
      const fresh = server === undefined
      const own = launch({ command: 'java', args, log, cwd: files.dir, env: { CLASSPATH: '' } })
      server = own
      await until(
        `Kafka node ${place.id}`,
        async () => {
          const known = await brokersOf(`127.0.0.1:${place.port}`)
          // At first all nodes come up together; later it is enough that this one is in.
          return known.includes(place.id) && (!fresh || known.length === size) ? true : undefined
        },
        { server: own, log },
      )
    },
    suspend: () => server?.signal('SIGSTOP'),
    resume: () => server?.signal('SIGCONT'),
  }
}
