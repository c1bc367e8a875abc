// A backlog in PostgreSQL to real Kafka, and the same by bare scripts in the same run.
import { Client } from 'pg'
import { migrate } from '../src/databases/postgres/index.ts'
import { startKafka } from '../servers/kafka.ts'
import { startPostgres } from '../servers/postgres.ts'
import { contest, type Measured, type Task } from './line/contestant.ts'
import { copyBinary } from './line/copy.ts'
import { fill, rewind } from './line/fill.ts'
import type { Bench, BenchContext, BenchResult } from './runner/bench.ts'

const events = 600_000
const partitions = 4
const rounds = 3

export const bench: Bench = {
  summary: 'a backlog in PostgreSQL to real Kafka: the relay, a bare script of the same shape, COPY BINARY, a bare producer',
  run: async (context) => {
    await using postgres = await startPostgres()
    await using kafka = await startKafka({ jvm: ['-Xmx512m', '-XX:+UseSerialGC'] })
    const client = new Client({ connectionString: postgres.url })
    await client.connect()
    try {
      await migrate(client)
      await fill(client, events)
      return await measure(
        context,
        client,
        { database: postgres.url, brokers: kafka.brokers, events, partitions, topic: '' },
        (name, options) => kafka.createTopic(name, options),
      )
    } finally {
      await client.end()
    }
  },
}

async function measure(
  context: BenchContext,
  client: Client,
  task: Task,
  createTopic: (name: string, options: { partitions: number }) => Promise<void>,
): Promise<BenchResult> {
  let topics = 0
  const run = async (file: 'relay.ts' | 'bare.ts' | 'producer.ts'): Promise<Measured> => {
    context.signal.throwIfAborted()
    const topic = file === 'relay.ts' ? 'order' : `bench-${++topics}`
    await createTopic(topic, { partitions }).catch((error: unknown) => {
      if (topic !== 'order') throw error
    })
    await rewind(client)
    const measured = await contest(file, { ...task, topic })
    context.progress(
      `${file}: ${Math.round(measured.events / measured.seconds)} events/s, ${(measured.cpuUs / measured.events).toFixed(2)} us, ${Math.round(measured.rssMb)} MB`,
    )
    return measured
  }
  // The first of each warms caches of both servers, and is not counted. Then they alternate: the machine's mood is shared.
  await run('bare.ts')
  await run('relay.ts')
  const relay: Measured[] = []
  const bare: Measured[] = []
  for (let round = 0; round < rounds; round++) {
    relay.push(await run('relay.ts'))
    bare.push(await run('bare.ts'))
  }
  const producer = await run('producer.ts')
  const copied = await copyBinary(task.database)
  const [ours, theirs] = [median(relay), median(bare)]
  return {
    figures: {
      events_per_s: Math.round(rate(ours)),
      cpu_us_per_event: Number((ours.cpuUs / ours.events).toFixed(2)),
      rss_mb: Math.round(Math.max(...relay.map((m) => m.rssMb))),
      bare_events_per_s: Math.round(rate(theirs)),
      bare_cpu_us_per_event: Number((theirs.cpuUs / theirs.events).toFixed(2)),
      bare_rss_mb: Math.round(Math.max(...bare.map((m) => m.rssMb))),
      bare_producer_per_s: Math.round(rate(producer)),
      copy_binary_per_s: Math.round(copied.rows / copied.seconds),
    },
    ratios: {
      vs_bare_line: round3(rate(ours) / rate(theirs)),
      vs_bare_producer: round3(rate(ours) / rate(producer)),
      vs_copy_binary: round3((rate(ours) * copied.seconds) / copied.rows),
    },
    setting: { events, partitions, lanes: 8, rounds, node: process.version },
  }
}

function rate(measured: Measured): number {
  return measured.events / measured.seconds
}

function median(measured: readonly Measured[]): Measured {
  return measured.toSorted((a, b) => a.seconds - b.seconds)[Math.floor(measured.length / 2)]!
}

function round3(value: number): number {
  return Number(value.toFixed(3))
}
