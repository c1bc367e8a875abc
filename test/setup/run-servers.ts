import { packTarball, type Tarball } from '../../scripts/package.ts'
import { kafkaAvailability, postgresAvailability } from '../../servers/availability.ts'
import { startKafka, type KafkaCluster } from '../../servers/kafka.ts'
import { startPostgres, type PostgresServer } from '../../servers/postgres.ts'

export type ServerKind = 'postgres' | 'kafka'

/** Addresses of a server, or why it can't be had here. */
export type ServerAnswer = { readonly addresses: string[] } | { readonly missing: string }

/** `package`: the path of the packed tarball, which is no server but is made once a run as well. */
export type ResourceKind = ServerKind | 'package'

export interface ServersOfRun {
  /** Starts the server at the first call. Never rejects. */
  get(kind: ResourceKind): Promise<ServerAnswer>
  close(): Promise<void>
}

/** The one PostgreSQL and the one Kafka of a test run; servers that the environment names are used as they are. */
export function createServers(): ServersOfRun {
  const answers = new Map<ResourceKind, Promise<ServerAnswer>>()
  const started: (PostgresServer | KafkaCluster)[] = []
  let tarball: Tarball | undefined

  const postgres = async (): Promise<ServerAnswer> => {
    const given = process.env.OUTRIDER_TEST_DATABASE_URL
    if (given !== undefined) return { addresses: [given] }
    const found = postgresAvailability()
    if (!found.available) return { missing: found.reason }
    // This one is never killed, so nothing that it flushes is ever read again.
    const server = await startPostgres({ fsync: false })
    started.push(server)
    return { addresses: [server.url] }
  }

  const kafka = async (): Promise<ServerAnswer> => {
    const given = process.env.OUTRIDER_TEST_KAFKA_BROKERS
    if (given !== undefined) return { addresses: given.split(',').map((one) => one.trim()) }
    const found = kafkaAvailability()
    if (!found.available) return { missing: found.reason }
    const cluster = await startKafka()
    started.push(cluster)
    return { addresses: cluster.brokers }
  }

  const start = async (kind: ResourceKind): Promise<ServerAnswer> => {
    try {
      if (kind === 'postgres') return await postgres()
      if (kind === 'kafka') return await kafka()
      if (kind === 'package') {
        const given = process.env.OUTRIDER_TEST_TARBALL
        if (given !== undefined) return { addresses: [given] }
        tarball = packTarball()
        return { addresses: [tarball.path] }
      }
      return { missing: `there is no server called ${JSON.stringify(kind)}` }
    } catch (error) {
      return { missing: `it can't be started: ${(error as Error).message}` }
    }
  }

  return {
    get(kind) {
      const answer = answers.get(kind) ?? start(kind)
      answers.set(kind, answer)
      return answer
    },
    async close() {
      await Promise.all(answers.values())
      tarball?.remove()
      await Promise.all(started.map((server) => server.close()))
    },
  }
}
