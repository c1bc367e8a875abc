// Brokers are killed in mid-run: nothing is lost, every key keeps its order, and delivery goes on by itself.
import { metadataV12, Connection } from '@platformatic/kafka'
import { afterEach, expect, test } from 'vitest'
import { startKafka } from '../../servers/kafka.ts'
import type { KafkaCluster } from '../../servers/kafka.ts'
import { describeKafka } from '../setup/index.ts'
import { account, carry } from './kafka-carrier.ts'

const clusters: KafkaCluster[] = []
afterEach(async () => {
  await Promise.all(clusters.splice(0).map((cluster) => cluster.stop()))
})

async function start(nodes: 1 | 3): Promise<KafkaCluster> {
  const cluster = await startKafka({ nodes })
  clusters.push(cluster)
  return cluster
}

describeKafka('a broker that dies', () => {
  test('SIGKILL of the only broker, and its restart, in mid-run', { timeout: 120_000 }, async () => {
    const cluster = await start(1)
    await cluster.createTopic('orders', { partitions: 4 })
    const carrier = await carry(cluster.brokers, 'orders')
    for (let round = 0; round < 2; round++) {
      await carrier.more(3_000, 20_000)
      await cluster.nodes[0]?.kill()
      await cluster.nodes[0]?.start()
      await carrier.more(3_000, 30_000)
    }
    await carrier.stop()
    // The fault struck: something was under way when the broker died.
    expect((carrier.refusals.unknown ?? 0) + (carrier.refusals.unavailable ?? 0)).toBeGreaterThan(0)
    const found = await account(cluster.brokers, 'orders', carrier.accepted)
    expect(found).toMatchObject({ lost: 0, reordered: 0 })
    expect(found.records).toBeGreaterThanOrEqual(12_000)
  })

  test('three brokers, the leader killed and another elected', { timeout: 180_000 }, async () => {
    const cluster = await start(3)
    await cluster.createTopic('orders', { partitions: 4, replicas: 3, configs: { 'min.insync.replicas': '2' } })
    const carrier = await carry(cluster.brokers, 'orders')
    await carrier.more(3_000, 30_000)
    const before = await leaders(cluster.brokers, 'orders')
    const victim = cluster.nodes.find((node) => node.id === before[0])
    await victim?.kill()
    await carrier.more(6_000, 60_000)
    const left = cluster.brokers.filter((_, i) => cluster.nodes[i] !== victim)
    const after = await leaders(left, 'orders')
    expect(after[0]).not.toBe(before[0])
    expect(after).not.toContain(victim?.id)
    await victim?.start()
    await carrier.more(3_000, 60_000)
    await carrier.stop()
    const found = await account(left, 'orders', carrier.accepted)
    expect(found).toMatchObject({ lost: 0, reordered: 0 })
  })

  test('the leader hangs: its bytes count for nothing once another leads', { timeout: 180_000 }, async () => {
    const cluster = await start(3)
    await cluster.createTopic('orders', { partitions: 2, replicas: 3, configs: { 'min.insync.replicas': '2' } })
    const carrier = await carry(cluster.brokers, 'orders')
    await carrier.more(2_000, 30_000)
    const before = await leaders(cluster.brokers, 'orders')
    const victim = cluster.nodes.find((node) => node.id === before[0])
    victim?.suspend()
    await carrier.more(4_000, 60_000)
    victim?.resume()
    await carrier.more(2_000, 60_000)
    await carrier.stop()
    expect(carrier.refusals.unknown ?? 0).toBeGreaterThan(0)
    const found = await account(cluster.brokers, 'orders', carrier.accepted)
    expect(found).toMatchObject({ lost: 0, reordered: 0 })
  })
})

/** Leader by partition. */
async function leaders(brokers: readonly string[], topic: string): Promise<number[]> {
  const [host = '', port = ''] = (brokers[0] ?? '').split(':')
  const link = new Connection('outrider-test', { connectTimeout: 2_000 })
  await link.connect(host, Number(port))
  try {
    const answer = await metadataV12.api.async(link, [topic], false)
    return (answer.topics[0]?.partitions ?? []).toSorted((a, b) => a.partitionIndex - b.partitionIndex).map((one) => one.leaderId)
  } finally {
    await link.close()
  }
}
