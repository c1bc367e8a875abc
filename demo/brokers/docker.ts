// Kafka in a container of the demo's own. Docker keeps its data while it is stopped.
import { spawn } from 'node:child_process'
import { KAFKA_VERSION } from '../../servers/kafka-files.ts'
import { brokersOf, createTopicOn } from '../../servers/kafka-topics.ts'
import { freePort } from '../../servers/port.ts'
import { until } from '../../servers/process.ts'
import type { DemoBroker } from './broker.ts'
import { partitions } from './kafka.ts'

const image = `apache/kafka:${KAFKA_VERSION}`

/** Downloads the image at the first time. The container is removed at the end. */
export async function startInDocker(): Promise<DemoBroker> {
  const port = await freePort()
  const name = `outrider-demo-${process.pid}-${port}`
  const address = `127.0.0.1:${port}`
  const close = async (): Promise<void> => void (await docker('rm', '--force', '--volumes', name).catch(() => undefined))
  const answers = async (): Promise<void> =>
    void (await until('Kafka in Docker', async () => ((await brokersOf(address)).length > 0 ? true : undefined), { timeoutMs: 60_000 }))
  try {
    await docker(
      'run',
      '--detach',
      '--name',
      name,
      '--publish',
      `127.0.0.1:${port}:9092`,
      ...Object.entries(environment(address)).flatMap(asFlag),
      image,
    )
    await answers()
  } catch (error) {
    await close()
    throw error
  }
  return {
    title: `real Kafka ${KAFKA_VERSION} (Docker)`,
    address: { kind: 'kafka', brokers: [address] },
    outage: {
      stop: async () => void (await docker('stop', '--time', '10', name)),
      async start() {
        await docker('start', name)
        await answers()
      },
      startMs: 5_000,
    },
    createTopics: async (names) => void (await Promise.all(names.map((topic) => createTopicOn([address], topic, { partitions })))),
    close,
  }
}

/** One node that is broker and controller. Clients come to the published port, so that is what it calls itself. */
function environment(address: string): Record<string, string> {
  return {
    KAFKA_NODE_ID: '1',
    KAFKA_PROCESS_ROLES: 'broker,controller',
    KAFKA_LISTENERS: 'PLAINTEXT://:9092,CONTROLLER://:9093',
    KAFKA_ADVERTISED_LISTENERS: `PLAINTEXT://${address}`,
    KAFKA_CONTROLLER_LISTENER_NAMES: 'CONTROLLER',
    KAFKA_CONTROLLER_QUORUM_VOTERS: '1@localhost:9093',
    KAFKA_LISTENER_SECURITY_PROTOCOL_MAP: 'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT',
    KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR: '1',
    KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR: '1',
    KAFKA_TRANSACTION_STATE_LOG_MIN_ISR: '1',
    KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS: '0',
    KAFKA_AUTO_CREATE_TOPICS_ENABLE: 'false',
  }
}

const asFlag = ([name, value]: [string, string]): string[] => ['--env', `${name}=${value}`]

/** @throws Error with what docker said */
function docker(...args: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn('docker', args, { stdio: ['ignore', 'pipe', 'pipe'] })
    let out = ''
    let errors = ''
    child.stdout.on('data', (piece: Buffer) => (out += piece.toString()))
    child.stderr.on('data', (piece: Buffer) => (errors += piece.toString()))
    child.once('error', reject)
    child.once('close', (code) =>
      code === 0 ? resolve(out.trim()) : reject(new Error(`docker ${args[0]} failed (${code}): ${errors.slice(-1_000)}`)),
    )
  })
}
