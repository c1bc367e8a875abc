import { expect, it } from 'vitest'
import { startKafka } from '../../../servers/kafka.ts'
import { createTestDatabase, describeLine } from '../../setup/index.ts'
import { expectNothingLost } from './disturbed.ts'

describeLine('a relay on three brokers', () => {
  it('goes on in order when the leader of some partitions is killed and another is elected', async () => {
    await using cluster = await startKafka({ nodes: 3 })
    const database = await createTestDatabase()
    await cluster.createTopic('accounts', { partitions: 6, replicas: 3, configs: { 'min.insync.replicas': '2' } })
    const [victim, ...others] = cluster.nodes
    expect(others).toHaveLength(2)
    await expectNothingLost({
      url: database.url,
      brokers: cluster.brokers,
      topic: 'accounts',
      // Leaders are spread evenly, so each node leads two of the six.
      disturb: async () => {
        await victim!.kill()
        return others.map((node) => `127.0.0.1:${node.port}`)
      },
    })
  }, 180_000)
})
