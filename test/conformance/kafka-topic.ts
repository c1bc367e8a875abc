// What stands in a topic, read from its first offset, partition by partition, without a consumer group.
import { Connection, fetchV13, listOffsetsV9, metadataV12 } from '@platformatic/kafka'
import type { Message } from '../../src/core/index.ts'

export interface StoredRecord {
  readonly partition: number
  readonly offset: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: readonly (readonly [name: string, value: Buffer | null])[]
  readonly timestampMs: number
  readonly producerId: bigint
  readonly epoch: number
}

/** Everything up to the ends that the topic has at the time of the call. */
export async function readTopic(brokers: readonly string[], topic: string): Promise<StoredRecord[]> {
  const links = new Map<string, Promise<Connection>>()
  const linkTo = (address: string): Promise<Connection> => {
    const link = links.get(address) ?? open(address)
    links.set(address, link)
    return link
  }
  try {
    const cluster = await metadataV12.api.async(await Promise.any(brokers.map(linkTo)), [topic], false)
    const addresses = new Map(cluster.brokers.map((one) => [one.nodeId, `${one.host}:${one.port}`]))
    const found = cluster.topics[0]
    if (found === undefined) throw new Error(`no topic ${topic}`)
    const parts = await Promise.all(
      found.partitions.map(async (one) =>
        readPartition(await linkTo(addresses.get(one.leaderId) ?? ''), topic, found.topicId, one.partitionIndex),
      ),
    )
    return parts.flat().toSorted((a, b) => a.partition - b.partition || a.offset - b.offset)
  } finally {
    for (const link of links.values()) void link.then((one) => one.close()).catch(() => {})
  }
}

/** The values of a topic as text, those of one partition after those of another. */
export async function readValues(brokers: readonly string[], topic: string): Promise<(string | null)[]> {
  return (await readTopic(brokers, topic)).map((one) => one.value?.toString() ?? null)
}

async function open(address: string): Promise<Connection> {
  const [host = '', port = ''] = address.split(':')
  const link = new Connection('outrider-test', { requestTimeout: 10_000, connectTimeout: 2_000 })
  link.on('error', () => {})
  await link.connect(host, Number(port))
  return link
}

async function readPartition(link: Connection, topic: string, topicId: string, partition: number): Promise<StoredRecord[]> {
  const ends = await listOffsetsV9.api.async(link, -1, 0, [
    { name: topic, partitions: [{ partitionIndex: partition, currentLeaderEpoch: -1, timestamp: -1n }] },
  ])
  const end = Number(ends.topics[0]?.partitions[0]?.offset ?? 0n)
  const records: StoredRecord[] = []
  for (let next = 0; next < end;) {
    const wanted = { partition, currentLeaderEpoch: -1, fetchOffset: BigInt(next), lastFetchedEpoch: -1, partitionMaxBytes: 1 << 22 }
    const answer = await fetchV13.api.async(link, 100, 1, 1 << 24, 0, 0, -1, [{ topicId, partitions: [wanted] }], [], '')
    const batches = answer.responses[0]?.partitions[0]?.records ?? []
    const before = next
    for (const batch of batches) {
      for (const record of batch.records) {
        const offset = Number(batch.firstOffset) + record.offsetDelta
        // A batch comes as a whole, also when it begins below what was asked for.
        if (offset < next) continue
        records.push({
          partition,
          offset,
          key: record.key,
          value: record.value,
          headers: record.headers.map(([name, value]) => [name?.toString() ?? '', value]),
          timestampMs: Number(batch.firstTimestamp + record.timestampDelta),
          producerId: batch.producerId,
          epoch: batch.producerEpoch,
        })
        next = offset + 1
      }
    }
    if (next === before) throw new Error(`${topic}/${partition} gave nothing at ${next}, though it ends at ${end}`)
  }
  return records
}

let made = 0

/** A message with the given facts; the rest is made up. The payload is the text `m<seq>` unless given. */
export function messageOf(facts: Partial<Message> & { readonly topic: string }): Message {
  const seq = facts.seq ?? BigInt(++made)
  return {
    id: `0190f9f0-0000-7000-8000-${seq.toString(16).padStart(12, '0')}`,
    seq,
    lane: 0,
    key: 'k',
    type: 'OrderPlaced',
    aggregateType: 'order',
    aggregateId: 'k',
    payload: Buffer.from(`m${seq}`),
    contentType: 'application/json',
    headers: null,
    createdAt: '2026-01-01T00:00:00.000001Z',
    attempt: 0,
    ...facts,
  }
}

/** Messages m1 to mN. */
export function messagesOf(count: number, topic: string, facts: (n: number) => Partial<Message> = () => ({})): Message[] {
  return Array.from({ length: count }, (_, i) => messageOf({ topic, seq: BigInt(i + 1), ...facts(i + 1) }))
}
