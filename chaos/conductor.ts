// One run: starts the servers and the processes, lets faults happen, lets everything drain, and asks the judge.
import { setTimeout as pause } from 'node:timers/promises'
import { startKafka, type KafkaCluster } from '../servers/kafka.ts'
import { startPostgres, type PostgresServer } from '../servers/postgres.ts'
import { freePort } from '../servers/port.ts'
import { migrate } from '../src/databases/postgres/index.ts'
import { startProxy } from '../src/testing/proxy.ts'
import { drained } from '../test/acceptance/line/fleet.ts'
import { scenarios } from './breaks.ts'
import { linkFaults, relayFaults, serverFaults, type Fault, type Field, type Way } from './faults.ts'
import { startFleet } from './fleet.ts'
import type { Evidence } from './outcome.ts'
import type { Break } from './kinds.ts'
import { createRandom, type Random } from './random.ts'
import { startRole, type Role } from './role.ts'
import { connect, createTables, fillAccounts, keys } from './shop.ts'
import type { ConsumerTalk, JudgeTalk, Place, WriterTalk } from './talk.ts'

export interface ChaosOptions {
  readonly seconds: number
  readonly seed: number
  readonly relays: number
  readonly lanes: number
  readonly faults: readonly string[]
  /** The safety that is switched off. */
  readonly broken: Break | null
  /** What the safeties are for: made to happen before the faults begin. */
  readonly cases: readonly Break[]
  readonly progress: (line: string) => void
  readonly signal: AbortSignal
}

export const leaseMs = 1_500
export const publishTimeoutMs = 500
const writers = 12
const perSecond = 220
const host = '127.0.0.1'
const partitions = 4
const topic = 'placed'
const clockOffMs = 600_000
/** Faults that were asked for and have not struck may take so much longer. */
const overtimeMs = 45_000
const drainWithinMs = 90_000

const tracks: readonly Readonly<Record<string, Fault>>[] = [relayFaults, serverFaults, linkFaults]

export async function conduct(options: ChaosOptions): Promise<Evidence> {
  const closing: (() => Promise<unknown>)[] = []
  try {
    const opened = <T>(what: T, close: (what: T) => Promise<unknown>): T => {
      closing.push(() => close(what))
      return what
    }
    const database = startPostgres().then((server) => opened(server, (one) => one.close()))
    database.catch(() => undefined)
    const kafkaPorts = await Promise.all(Array.from({ length: options.relays }, () => freePort()))
    const ways: Way[] = []
    for (const port of kafkaPorts) {
      // The database's port is known by then; Kafka must know those of the proxies before it starts.
      const kafka = opened(await startProxy({ host, port }), (proxy) => proxy.close())
      const { port: databasePort } = await database
      ways.push({ kafka, database: opened(await startProxy({ host, port: databasePort }), (proxy) => proxy.close()) })
    }
    const advertised = ways.map(({ kafka }, i) => ({ port: kafkaPorts[i]!, advertisedPort: kafka.port }))
    const kafka = opened(await startKafka({ ways: advertised }), (cluster) => cluster.stop())
    return await run(options, { database: await database, kafka, ways }, closing)
  } finally {
    // The processes before the servers that they use.
    for (const close of closing.toReversed()) await close().catch(() => undefined)
  }
}

interface Servers {
  readonly database: PostgresServer
  readonly kafka: KafkaCluster
  readonly ways: readonly Way[]
}

async function run(options: ChaosOptions, { database, kafka, ways }: Servers, closing: (() => Promise<unknown>)[]): Promise<Evidence> {
  const { seed, seconds, progress, signal } = options
  const place: Place = { databaseUrl: await prepare(database, options.lanes), brokers: kafka.brokers, topic }
  await kafka.createTopic(topic, { partitions })

  const faults: Record<string, number> = Object.fromEntries(options.faults.map((kind) => [kind, 0]))
  const failure = Promise.withResolvers<never>()
  failure.promise.catch(() => undefined)
  signal.addEventListener('abort', () => failure.reject(new Error('stopped')), { once: true })
  const fail = (who: string, text: string): void => failure.reject(new Error(`The ${who} failed: ${text}`))

  const fleet = startFleet({
    relays: options.relays,
    leaseMs,
    publishTimeoutMs,
    random: createRandom(seed, 'relays'),
    broken: options.broken,
    way: (number) => wayOf(place, ways[number]!),
    clocksOffMs: options.faults.includes('clock_off') ? [-clockOffMs, 0, clockOffMs] : [0],
    onClockOff: () => void (faults['clock_off'] = (faults['clock_off'] ?? 0) + 1),
  })
  closing.push(() => fleet.kill())
  const consumer = startRole<ConsumerTalk>('consumer', place, (news) => fail('consumer', news.text))
  closing.push(() => kill(consumer))
  let written: { readonly transactions: number; readonly kinds: Readonly<Record<string, number>> } = { transactions: 0, kinds: {} }
  const writerStopped = Promise.withResolvers<void>()
  const writer = startRole<WriterTalk>('writer', { ...place, seed, writers, perSecond }, (news) => {
    if (news.is === 'written') written = news
    if (news.is === 'stopped') writerStopped.resolve()
    if (news.is === 'failed') fail('writer', news.text)
  })
  closing.push(() => kill(writer))

  await Promise.race([until('the first messages are settled', () => fleet.settled > 0, 30_000), failure.promise])
  const field: Field = { ways, fleet, database, kafka, databaseUrl: place.databaseUrl, topic, leaseMs, publishTimeoutMs }
  for (const name of options.cases) {
    await Promise.race([scenarios[name](field, options.broken), failure.promise])
    progress(`the case of ${name} was made`)
  }
  const startedMs = performance.now()
  const transactionsBefore = written.transactions
  const isOver = (): boolean => signal.aborted || performance.now() - startedMs >= seconds * 1_000
  const mustEnd = (): boolean => signal.aborted || performance.now() - startedMs >= seconds * 1_000 + overtimeMs
  await Promise.race([
    Promise.all(
      tracks.map((track, number) => disturb(track, options, field, faults, createRandom(seed, `track ${number}`), isOver, mustEnd)),
    ),
    failure.promise,
  ])
  if (!isOver()) await Promise.race([pause(seconds * 1_000 - (performance.now() - startedMs)), failure.promise])
  const endedMs = performance.now()
  const transactions = written.transactions - transactionsBefore
  progress(`${Math.round((endedMs - startedMs) / 1_000)} s of faults are over; everything drains`)

  const problems: string[] = []
  writer.tell({ do: 'stop' })
  await Promise.race([writerStopped.promise, failure.promise])
  await Promise.race([drained(place.databaseUrl, drainWithinMs).catch((error: unknown) => problems.push(String(error))), failure.promise])
  await fleet.stop()
  problems.push(...fleet.failures)
  const judged = Promise.withResolvers<JudgeTalk['news']>()
  const judge = startRole<JudgeTalk>('judge', { ...place, patienceMs: 60_000 }, judged.resolve)
  closing.push(() => kill(judge))
  void judge.exited.then(() => judged.reject(new Error(`The judge ended without a word. ${judge.tail}`)))
  const { figures, handled, handledTwice } = await Promise.race([judged.promise, failure.promise])
  return {
    seed,
    seconds: (endedMs - startedMs) / 1_000,
    relays: options.relays,
    lanes: options.lanes,
    broken: options.broken,
    transactions,
    kinds: written.kinds,
    figures,
    handled,
    handledTwice,
    faults,
    rss: fleet.rss.map((sample) => ({ ...sample, atMs: sample.atMs - startedMs })),
    problems,
  }
}

/** Each kind in turn, in an order of the seed's own, round after round. Goes past its time for those that have not struck. */
async function disturb(
  track: Readonly<Record<string, Fault>>,
  { faults: asked, seconds, progress }: ChaosOptions,
  field: Field,
  struck: Record<string, number>,
  random: Random,
  isOver: () => boolean,
  mustEnd: () => boolean,
): Promise<void> {
  const kinds = Object.keys(track).filter((kind) => asked.includes(kind))
  const isDone = (): boolean => mustEnd() || (isOver() && kinds.every((kind) => (struck[kind] ?? 0) > 0))
  const longestPauseMs = Math.min(5_000, seconds * 40)
  while (kinds.length > 0 && !isDone()) {
    for (const kind of random.shuffled(kinds)) {
      if (isDone()) return
      if (isOver() && (struck[kind] ?? 0) > 0) continue
      await pause(random.between(0, longestPauseMs))
      const hasStruck = await track[kind]!(field, random)
      if (hasStruck) struck[kind] = (struck[kind] ?? 0) + 1
      progress(`${kind}${hasStruck ? '' : ' did not strike'}`)
    }
  }
}

async function prepare(database: PostgresServer, lanes: number): Promise<string> {
  const admin = await connect(database.url)
  await admin.query('create database chaos')
  await admin.end()
  const url = database.urlOf('chaos')
  const client = await connect(url)
  await migrate(client, { lanes })
  await client.query(createTables)
  await client.query(fillAccounts, [keys])
  await client.end()
  return url
}

/** The relay's own links to both servers. */
function wayOf({ databaseUrl }: Place, { database, kafka }: Way): { readonly databaseUrl: string; readonly brokers: readonly string[] } {
  const url = new URL(databaseUrl)
  url.port = String(database.port)
  return { databaseUrl: url.href, brokers: [`${host}:${kafka.port}`] }
}

async function kill(role: Role<never>): Promise<void> {
  role.signal('SIGKILL')
  await role.exited
}

async function until(what: string, isSo: () => boolean, maxMs: number): Promise<void> {
  const endsAtMs = performance.now() + maxMs
  while (!isSo()) {
    if (performance.now() > endsAtMs) throw new Error(`Not within ${maxMs} ms: ${what}.`)
    await pause(20)
  }
}
