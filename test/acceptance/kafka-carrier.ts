// Carries an endless line of messages to Kafka the way the relay does, lane by lane, and afterwards counts what a consumer would see.
import type { Message, Verdict } from '../../src/core/index.ts'
import { openPublisher } from '../conformance/kafka-lane.ts'
import type { TestPublisher } from '../conformance/kafka-lane.ts'
import { messageOf, readTopic } from '../conformance/kafka-topic.ts'

const LANES = 4
const BATCH = 60
const KEYS = 12

export interface Carrier {
  /** Ids of the messages that Kafka accepted, so far. */
  readonly accepted: ReadonlySet<string>
  /** How often each refusal came, by class. */
  readonly refusals: Readonly<Record<string, number>>
  /** Resolves when `count` messages more are accepted. Rejects when that takes longer than `maxMs`. */
  more(count: number, maxMs: number): Promise<void>
  /** Delivers what is under way, ends, and closes the publisher. */
  stop(): Promise<void>
}

export async function carry(brokers: readonly string[], topic: string): Promise<Carrier> {
  const lane = await openPublisher({ brokers, publishTimeoutMs: 2_000, connectTimeoutMs: 500 }, { lanes: LANES })
  const accepted = new Set<string>()
  const refusals: Record<string, number> = {}
  const watchers = new Set<() => void>()
  const stopping = new AbortController()
  const isStopped = (): boolean => stopping.signal.aborted

  const take = (batch: readonly Message[], verdicts: readonly Verdict[]): Message[] => {
    const again: Message[] = []
    for (const [i, message] of batch.entries()) {
      const verdict = verdicts[i]
      if (verdict?.kind === 'accepted') accepted.add(message.id)
      else again.push(message)
      if (verdict?.kind === 'refused') refusals[verdict.class] = (refusals[verdict.class] ?? 0) + 1
    }
    for (const watcher of watchers) watcher()
    return again
  }
  const run = async (number: number): Promise<void> => {
    let seq = 0
    let batch: Message[] = []
    while (!isStopped() || batch.length > 0) {
      while (batch.length < BATCH && !isStopped()) batch.push(numbered(topic, number, ++seq))
      const verdicts = await lane.publish(batch, number).catch(() => null)
      if (verdicts === null || verdicts.some((one) => one.kind === 'refused' && one.class === 'unknown')) await refence(lane, number)
      if (verdicts !== null) batch = take(batch, verdicts)
    }
  }
  const lanes = Promise.all(Array.from({ length: LANES }, (_, number) => run(number)))
  lanes.catch(() => {})
  return {
    accepted,
    refusals,
    async more(count, maxMs) {
      const wanted = accepted.size + count
      await new Promise<void>((resolve, reject) => {
        const timer = setTimeout(
          () => reject(new Error(`${accepted.size} of ${wanted} after ${maxMs} ms: ${JSON.stringify(refusals)}`)),
          maxMs,
        )
        const watcher = (): void => {
          if (accepted.size < wanted) return
          clearTimeout(timer)
          watchers.delete(watcher)
          resolve()
        }
        watchers.add(watcher)
        watcher()
      })
    },
    async stop() {
      stopping.abort()
      await lanes
      await lane.publisher.close()
    },
  }
}

/** The fence needs a broker too: it is asked for until one answers. */
async function refence(lane: TestPublisher, number: number): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    try {
      await lane.fence(number)
      return
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
  throw new Error(`lane ${number} got no fence`)
}

function numbered(topic: string, lane: number, seq: number): Message {
  const number = Math.ceil(seq / KEYS)
  const key = `${lane}-${seq % KEYS}`
  return messageOf({ topic, lane, seq: BigInt(seq), key, id: `${key}-${number}`, payload: Buffer.from(`${number}`) })
}

export interface Account {
  readonly lost: number
  readonly reordered: number
  readonly duplicates: number
  readonly records: number
}

/** Reads the topic from its first offset: first occurrences of a key must be 1, 2, 3 ... */
export async function account(brokers: readonly string[], topic: string, accepted: ReadonlySet<string>): Promise<Account> {
  const records = await readTopic(brokers, topic)
  const seen = new Set<string>()
  const last = new Map<string, number>()
  let reordered = 0
  for (const { key, value } of records) {
    const id = `${key?.toString()}-${value?.toString()}`
    if (seen.has(id)) continue
    seen.add(id)
    const before = last.get(key?.toString() ?? '') ?? 0
    const number = Number(value?.toString())
    if (number !== before + 1) reordered += 1
    last.set(key?.toString() ?? '', Math.max(before, number))
  }
  const lost = [...accepted].filter((id) => !seen.has(id)).length
  return { lost, reordered, duplicates: records.length - seen.size, records: records.length }
}
