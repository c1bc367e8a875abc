// The whole line in one process while something is done to its servers: nothing may be lost, invented, out of order, or unhandled.
import { expect } from 'vitest'
import { kafka } from '../../../src/brokers/kafka/index.ts'
import { postgres } from '../../../src/databases/postgres/index.ts'
import { createRelay } from '../../../src/relay/index.ts'
import { checkDelivery } from '../../../src/testing/checker.ts'
import { drained } from './fleet.ts'
import { openShop } from './shop.ts'
import { delivered } from './topic.ts'

export interface Disturbed {
  /** Of an empty database. */
  readonly url: string
  readonly brokers: readonly string[]
  readonly topic: string
  /** Runs while transactions go on; what it returns are the brokers that are left. */
  readonly disturb: () => Promise<readonly string[] | void>
}

export async function expectNothingLost({ url, brokers, topic, disturb }: Disturbed): Promise<void> {
  const shop = await openShop(url, topic)
  const relay = createRelay({
    source: postgres({ url, pollMs: 100 }),
    publisher: kafka({ brokers, publishTimeoutMs: 1_000 }),
    leaseMs: 2_000,
  })
  let settled = 0
  relay.subscribe((event) => {
    if (event.name === 'settle.done') settled += event.messages
  })
  const unhandled: unknown[] = []
  const note = (error: unknown): void => void unhandled.push(error)
  process.on('unhandledRejection', note)
  await relay.start()
  await shop.more(200)
  const left = (await disturb()) ?? brokers
  await shop.more(200)
  const committed = await shop.stop()
  await drained(url, 60_000)
  expect(relay.state).toBe('running')
  await relay.stop()
  process.off('unhandledRejection', note)
  expect(unhandled).toEqual([])
  const figures = checkDelivery(committed, await delivered(left, topic))
  expect(figures).toMatchObject({ lost: 0, ghosts: 0, reordered: 0, lateRepeats: 0, delivered: committed.length })
  expect(settled).toBeGreaterThanOrEqual(committed.length)
}
