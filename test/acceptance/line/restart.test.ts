// Servers of its own: the run's shared ones are not to be restarted.
import { Client } from 'pg'
import { afterAll, beforeAll, it } from 'vitest'
import { startKafka, type KafkaCluster } from '../../../servers/kafka.ts'
import { startPostgres, type PostgresServer } from '../../../servers/postgres.ts'
import { describeLine } from '../../setup/index.ts'
import { expectNothingLost } from './disturbed.ts'

describeLine('a relay whose servers go away and come back', () => {
  let database: PostgresServer
  let broker: KafkaCluster
  beforeAll(async () => {
    ;[database, broker] = await Promise.all([startPostgres(), startKafka()])
  }, 120_000)
  afterAll(async () => {
    await Promise.all([database?.close(), broker?.stop()])
  }, 60_000)

  async function during(name: string, disturb: () => Promise<void>): Promise<void> {
    const topic = `restart-${name}`
    await broker.createTopic(topic, { partitions: 4 })
    const admin = new Client({ connectionString: database.url })
    await admin.connect()
    await admin.query(`create database ${name}`)
    await admin.end()
    const url = database.urlOf(name)
    await expectNothingLost({ url, brokers: broker.brokers, topic, disturb })
  }

  it('goes on by itself after every backend was terminated, again and again', async () => {
    await during('terminated', async () => {
      const admin = new Client({ connectionString: database.url })
      await admin.connect()
      for (let i = 0; i < 5; i++) {
        await admin.query(`select pg_terminate_backend(pid) from pg_stat_activity where datname = 'terminated'`)
        await new Promise((resolve) => setTimeout(resolve, 150))
      }
      await admin.end()
    })
  }, 120_000)

  it('goes on by itself after PostgreSQL was restarted', async () => {
    await during('postgres_restarted', () => database.restart())
  }, 120_000)

  it('goes on by itself after PostgreSQL was killed', async () => {
    await during('postgres_killed', async () => {
      await database.kill()
      await database.start()
    })
  }, 120_000)

  it('goes on by itself after Kafka was killed and started again', async () => {
    await during('kafka_killed', async () => {
      await broker.nodes[0]!.kill()
      await broker.nodes[0]!.start()
    })
  }, 120_000)
})
