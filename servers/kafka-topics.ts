// What is asked of a Kafka cluster from outside: who is alive, and a topic that is ready to take records.
import { Admin } from '@platformatic/kafka'
import { until } from './process.ts'

export interface TopicOptions {
  /** @default 1 */
  readonly partitions?: number
  /** @default 1 */
  readonly replicas?: number
  readonly configs?: Readonly<Record<string, string>>
}

async function withAdmin<T>(brokers: readonly string[], act: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = new Admin({
    clientId: 'outrider-servers',
    bootstrapBrokers: [...brokers],
    retries: 0,
    connectTimeout: 1_000,
    timeout: 5_000,
  })
  try {
    return await act(admin)
  } finally {
    await admin.close().catch(() => {})
  }
}

/** The ids of the nodes that count as alive, as `broker` sees it. */
export const brokersOf = (broker: string): Promise<number[]> =>
  withAdmin([broker], async (admin) => [...(await admin.metadata({ topics: [], forceUpdate: true })).brokers.keys()])

/** Makes a topic and waits until every partition has a leader and all its replicas in sync. */
export async function createTopicOn(brokers: readonly string[], name: string, options: TopicOptions = {}): Promise<void> {
  const { partitions = 1, replicas = 1, configs = {} } = options
  await withAdmin(brokers, async (admin) => {
    await admin.createTopics({
      topics: [name],
      partitions,
      replicas,
      configs: Object.entries(configs).map(([key, value]) => ({ name: key, value })),
    })
    await until(`Topic ${name}`, async () => {
      const topic = (await admin.metadata({ topics: [name], forceUpdate: true })).topics.get(name)
      const ready = topic?.partitions.filter((one) => one.leader >= 0 && one.isr.length === replicas)
      return ready?.length === partitions ? true : undefined
    })
  })
}

export const deleteTopicsOn = (brokers: readonly string[], names: readonly string[]): Promise<void> =>
  withAdmin(brokers, (admin) => admin.deleteTopics({ topics: [...names] }))
