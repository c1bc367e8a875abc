// Puts batches on Kafka: one stream for each lane and partition, each with the lane's own producer id. The lane's fence is that id with its epoch.
import { OutriderError } from '../../core/index.ts'
import type { Clock, Message, PublishContext, Publisher, Verdict } from '../../core/index.ts'
import { problemOf } from './attempt.ts'
import { Brokers } from './brokers.ts'
import { Call } from './call.ts'
import { Cluster } from './cluster.ts'
import type { Topic, TopicProblem } from './cluster.ts'
import { decodeFence } from './fence.ts'
import { Identities } from './identities.ts'
import { Lane } from './lane.ts'
import { Links } from './links.ts'
import type { KafkaSettings } from './options.ts'
import { partitionFor } from './partition.ts'
import { recordOf } from './record.ts'
import { behind } from './refusal.ts'
import { SizeLimits } from './size-limits.ts'
import type { Item, Shared } from './stream.ts'
import type { Wire } from './wire.ts'

/** A message of the batch and its place in it. */
interface Placed {
  readonly message: Message
  readonly at: number
}

export function createKafkaPublisher(settings: KafkaSettings, wire: Wire, clock: Clock): Publisher {
  const links = new Links(wire, clock, Math.min(settings.connectTimeoutMs, settings.publishTimeoutMs))
  const brokers = new Brokers(settings, links, clock)
  const cluster = new Cluster(settings, brokers, links, clock)
  const identities = new Identities(cluster, brokers, clock, Math.max(settings.publishTimeoutMs, 2 * settings.connectTimeoutMs))
  const shared: Shared = {
    settings,
    cluster,
    clock,
    pauses: new WeakMap(),
    isClosed: () => links.isClosed,
    spend: (producerId) => identities.spend(producerId),
    sizes: new SizeLimits(settings.maxRequestBytes, settings.compression !== 'none', brokers, clock),
  }
  const lanes = new Map<number, Lane>()
  const groups = new Map<string, readonly string[]>()
  /** Made once: every message asks for its group's name. */
  const groupsOf = (topic: string, partitions: number): readonly string[] => {
    let names = groups.get(topic)
    if (names?.length !== partitions) {
      names = Array.from({ length: partitions }, (_, partition) => `${topic}/${partition}`)
      groups.set(topic, names)
    }
    return names
  }

  return {
    name: 'kafka',
    order: 'batch',
    limits: { publishTimeoutMs: settings.publishTimeoutMs },
    // For people too: no topic of Kafka's has a slash in its name.
    group(message) {
      const topic = settings.topic(message)
      // Messages without a key may go anywhere: a stream of their own keeps them out of a slow partition's way.
      if (message.key === null) return `${topic}/*`
      const partitions = cluster.partitionsOf(topic)
      return partitions === undefined ? topic : groupsOf(topic, partitions)[partitionFor(message.key, partitions)]!
    },
    async publish(batch, { lane: number, signal }: PublishContext) {
      if (links.isClosed) throw new OutriderError('CLOSED', 'The Kafka publisher is closed. Nothing was sent.')
      const lane = lanes.get(number)
      if (lane === undefined) {
        throw new OutriderError('USAGE', `Lane ${number} has no fence yet. Nothing was sent.`, {
          hint: 'Call fence.advance, store what it gives, then fence.enter; only then publish.',
        })
      }
      const byTopic = new Map<string, Placed[]>()
      for (let at = 0; at < batch.length; at++) {
        const message = batch[at]
        if (message === undefined) continue
        const topic = settings.topic(message)
        const placed = byTopic.get(topic)
        if (placed === undefined) byTopic.set(topic, [{ message, at }])
        else placed.push({ message, at })
      }
      const call = new Call(clock, settings.publishTimeoutMs, signal)
      const verdicts: Verdict[] = Array.from<Verdict>({ length: batch.length }).fill(behind('NO_TIME_LEFT', 'no time was left'))
      try {
        await Promise.all([...byTopic].map(([topic, placed]) => publishTopic(lane, topic, placed, call, verdicts, shared)))
      } finally {
        call.end()
      }
      return verdicts
    },
    fence: {
      advance: (_lane, stored) => identities.advance(stored),
      enter(number, fence) {
        const identity = decodeFence(fence)
        if (identity === null)
          throw new OutriderError('USAGE', `The fence of lane ${number} isn't one that this publisher gave. Nothing was changed.`)
        const before = lanes.get(number)
        if (before !== undefined) before.isRetired = true
        lanes.set(number, new Lane(number, identity, shared))
      },
    },
    check: () => identities.check(),
    async close() {
      links.close()
    },
  }
}

async function publishTopic(
  lane: Lane,
  name: string,
  placed: readonly Placed[],
  call: Call,
  verdicts: Verdict[],
  shared: Shared,
): Promise<void> {
  const here = lane.topic(name)
  // While a call still finds out how many partitions there are, or counts another number of them, keys may be under way elsewhere.
  const count = shared.cluster.partitionsOf(name) ?? null
  const turn = here.turns.take(count)
  const refuse = (one: Placed, verdict: Verdict): void => {
    verdicts[one.at] = verdict
    if (one.message.key !== null) turn.refused.add(one.message.key)
  }
  try {
    const blocked = await turn.begin(call)
    if (blocked === null) {
      const verdict = behind('NO_TIME_LEFT', `an earlier batch of this lane for ${name} took all the time`)
      for (const one of placed) refuse(one, verdict)
      return
    }
    const topic = await usableTopic(name, call, shared)
    if (!('leaders' in topic)) {
      const { problem } = problemOf(topic, name, shared)
      for (const one of placed) refuse(one, problem)
      return
    }
    const streams = new Map<number, { readonly items: Item[]; readonly places: Placed[] }>()
    const timestamp = BigInt(Math.trunc(shared.clock.wallMs()))
    let keyless: number | null = null
    for (const one of placed) {
      const { key } = one.message
      if (key !== null && blocked.has(key)) {
        refuse(one, behind('BEHIND_REFUSED', 'an earlier message of this topic and key was refused'))
        continue
      }
      const partition: number = key === null ? (keyless ??= nextPartition(topic, here)) : partitionFor(key, count ?? topic.leaders.length)
      const record = recordOf(one.message, name, partition, timestamp)
      const item: Item = { message: one.message, record, verdict: null }
      const stream = streams.get(partition)
      if (stream === undefined) streams.set(partition, { items: [item], places: [one] })
      else {
        stream.items.push(item)
        stream.places.push(one)
      }
    }
    await Promise.all([...streams].map(([partition, { items }]) => lane.stream(name, partition).send(items, call)))
    for (const { items, places } of streams.values()) {
      for (let i = 0; i < items.length; i++) {
        const one = places[i]
        const verdict = items[i]?.verdict
        if (one === undefined || verdict === null || verdict === undefined) continue
        if (verdict.kind === 'accepted') verdicts[one.at] = verdict
        else refuse(one, verdict)
      }
    }
  } finally {
    turn.end()
  }
}

/** The topic, or why it can't be used after a moment's patience with one that was just made. */
async function usableTopic(name: string, call: Call, shared: Shared): Promise<Topic | TopicProblem> {
  let topic = await shared.cluster.topic(name, call)
  for (let tries = 0; !('leaders' in topic) && !problemOf(topic, name, shared).isFinal; tries++) {
    if (call.isAborted || shared.isClosed() || call.leftMs < shared.settings.publishTimeoutMs / 2) break
    await call.pause(Math.min(20 * 2 ** tries, 250))
    topic = await shared.cluster.renewed(name, call)
  }
  return topic
}

/** One partition for all messages of a batch without a key; another one for the next. One without a leader is left out. */
function nextPartition(topic: Topic, here: { turn: number }): number {
  const count = topic.leaders.length
  for (let i = 0; i < count; i++) {
    const partition = here.turn++ % count
    if ((topic.leaders[partition] ?? -1) >= 0) return partition
  }
  return here.turn % count
}
