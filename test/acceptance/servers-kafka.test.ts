// A Kafka of one's own can be killed, suspended and started again, which the crash tests build on.
import { Admin } from '@platformatic/kafka'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startKafka, type KafkaCluster } from '../../servers/kafka.ts'
import { isAlive } from '../../servers/process.ts'
import { describeKafka } from '../setup/index.ts'

async function leadersOf(cluster: KafkaCluster, topic: string): Promise<number[]> {
  const admin = new Admin({ clientId: 'leaders', bootstrapBrokers: cluster.brokers, retries: 0, timeout: 2_000, connectTimeout: 1_000 })
  try {
    const { topics } = await admin.metadata({ topics: [topic], forceUpdate: true })
    return topics.get(topic)?.partitions.map((one) => one.leader) ?? []
  } finally {
    await admin.close()
  }
}

describeKafka('three nodes', () => {
  let cluster: KafkaCluster
  beforeAll(async () => {
    cluster = await startKafka({ nodes: 3, jvm: ['-Xmx256m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'] })
  })
  afterAll(() => cluster.close())

  test('a topic spreads over them; the partitions of a killed one get another leader; it comes back on the same port', async () => {
    await cluster.createTopic('t', { partitions: 6, replicas: 3 })
    const before = await leadersOf(cluster, 't')
    expect(new Set(before).size, `leaders ${before.join()}`).toBeGreaterThan(1)
    const [victim] = cluster.nodes.filter((node) => node.id === before[0])
    if (victim === undefined) throw new Error('no node leads the first partition')
    const { pid } = victim
    await victim.kill()
    expect(isAlive(pid)).toBe(false)
    const ledByVictim = async (): Promise<boolean> => (await leadersOf(cluster, 't').catch(() => [victim.id])).includes(victim.id)
    await expect.poll(ledByVictim, { timeout: 30_000, interval: 100 }).toBe(false)
    await victim.start()
    expect(victim.pid).not.toBe(pid)
    await cluster.createTopic('after', { partitions: 3, replicas: 3 })
  })

  test('a suspended node keeps its process and answers after it is resumed', async () => {
    const [node] = cluster.nodes
    if (node === undefined) throw new Error('no node')
    const { pid } = node
    node.suspend()
    expect(isAlive(pid)).toBe(true)
    node.resume()
    await node.start()
    expect(node.pid).toBe(pid)
    await expect.poll(() => leadersOf(cluster, 't').catch(() => []), { timeout: 30_000 }).toHaveLength(6)
  })
})
