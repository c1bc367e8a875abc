import { afterEach, expect, it } from 'vitest'
import { checkDelivery } from '../../../src/testing/checker.ts'
import type { PausePoint } from '../../../src/relay/index.ts'
import { createTestDatabase, createTestTopic, describeLine, kafkaBrokers } from '../../setup/index.ts'
import { drained, startRelay, type RelayProcess } from './fleet.ts'
import type { RelayTask } from './relay-process.ts'
import { openShop } from './shop.ts'
import { delivered } from './topic.ts'

const points: readonly PausePoint[] = ['read', 'accepted', 'settle']
const lanes = 8
const maxInFlight = 40
const kills = Number(process.env['OUTRIDER_TEST_KILLS'] ?? 50)
const seed = Number(process.env['OUTRIDER_TEST_SEED'] ?? 7)

describeLine('a relay that is killed', () => {
  const running = new Set<RelayProcess>()
  afterEach(async () => {
    await Promise.all([...running].map((relay) => relay.kill()))
    running.clear()
  })

  function start(task: RelayTask): RelayProcess {
    const relay = startRelay(task)
    running.add(relay)
    return relay
  }

  /** Kills one relay after another, each at a point chosen by the seed, while the shop goes on; then lets one finish. */
  async function killing(times: number) {
    const database = await createTestDatabase()
    const topic = await createTestTopic({ partitions: 4 })
    const brokers = await kafkaBrokers()
    const shop = await openShop(database.url, topic)
    const task: RelayTask = { database: database.url, brokers, leaseMs: 600, publishTimeoutMs: 300, batchSize: 20, maxInFlight }
    const random = generator(seed)
    // One carries, one stands by; on a slow machine a lease may run out, and they change places or share the lanes.
    let pair = [start(task), start(task)]
    for (let kill = 0; kill < times; kill++) {
      const point = points[Math.floor(random() * points.length)]!
      for (const relay of pair) relay.arm(point)
      const victim = await Promise.race(pair.map((relay) => relay.next('paused').then(() => relay)))
      await victim.kill()
      running.delete(victim)
      const survivor = pair.find((relay) => relay !== victim)!
      survivor.arm('none')
      pair = [survivor, start(task)]
    }
    const committed = await shop.stop()
    const [survivor, newcomer] = pair
    const codes = [await survivor!.stop()]
    // It may not have come as far as to listen to SIGTERM.
    await newcomer!.kill()
    // Small batches made the kills frequent and the backlog long.
    const last = start({ ...task, batchSize: 500, maxInFlight: 1_000 })
    await drained(database.url, 60_000)
    codes.push(await last.stop())
    return { codes, figures: checkDelivery(committed, await delivered(brokers, topic)) }
  }

  it(`loses nothing and keeps the order of each key, killed ${kills} times after a read, after the broker accepted, before the settlement`, async () => {
    const { codes, figures } = await killing(kills)
    expect(figures).toMatchObject({ lost: 0, ghosts: 0, reordered: 0, lateRepeats: 0 })
    expect(figures.delivered).toBe(figures.committed)
    expect(figures.duplicates).toBeLessThanOrEqual(kills * lanes * maxInFlight)
    expect(codes).toEqual([0, 0])
  }, 300_000)

  it('would lose messages if it settled before it published', async () => {
    const database = await createTestDatabase()
    const topic = await createTestTopic({ partitions: 4 })
    const brokers = await kafkaBrokers()
    // A rolled-back number would hold the position back for a moment, and with it the damage.
    const shop = await openShop(database.url, topic, { rollbackShare: 0 })
    await shop.more(300)
    // Alone, and with a lease that outlives a slow machine: what it read and settled is its own when it is killed.
    const task = { database: database.url, brokers, leaseMs: 5_000, publishTimeoutMs: 300, batchSize: 20, maxInFlight }
    const broken = start({ ...task, settlesEarly: true })
    broken.arm('read')
    await broken.next('paused')
    await broken.kill()
    const committed = await shop.stop()
    const last = start({ ...task, batchSize: 500, maxInFlight: 1_000 })
    await drained(database.url, 30_000)
    expect(await last.stop()).toBe(0)
    expect(checkDelivery(committed, await delivered(brokers, topic)).lost).toBeGreaterThan(0)
  }, 60_000)
})

/** Numbers in [0, 1) that a seed repeats: mulberry32. */
function generator(start: number): () => number {
  let state = start
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}
