// Relays that take lanes from each other while transactions come and go, step by step from a seed.
// Another run: OUTRIDER_TEST_SEED; longer: OUTRIDER_TEST_STEPS.
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Client } from 'pg'
import type { Message } from '../../src/core/index.ts'
import { describePostgres } from '../setup/index.ts'
import { createOutbox, delivered, insert, Stepper, text, type Outbox } from './source-driver.ts'

const steps = Number(process.env.OUTRIDER_TEST_STEPS ?? 400)
const seeds = process.env.OUTRIDER_TEST_SEED === undefined ? [1, 2, 3] : [Number(process.env.OUTRIDER_TEST_SEED)]

/** The same numbers from the same seed. Source: G. Marsaglia, "Xorshift RNGs" (2003). */
function randomOf(seed: number): () => number {
  let state = (seed * 2_654_435_761) >>> 0 || 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
}

interface Writer {
  readonly client: Client
  /** The key that its open transaction holds. */
  key: string | null
  readonly written: string[]
}

class Scene {
  readonly random: () => number
  readonly writers: Writer[] = []
  readonly relays: Stepper[] = []
  /** Handed out and not settled, by relay. */
  readonly inHand = new Map<Stepper, Message[]>()
  readonly committed: { readonly payload: string; readonly key: string }[] = []
  readonly handedOut: Message[] = []
  #events = 0
  #relayIds = 0
  readonly outbox: Outbox

  constructor(outbox: Outbox, seed: number) {
    this.outbox = outbox
    this.random = randomOf(seed)
  }

  pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.random() * from.length)]!
  }

  async addWriters(count: number): Promise<void> {
    for (let i = 0; i < count; i++) this.writers.push({ client: await this.outbox.connect(), key: null, written: [] })
  }

  async addRelay(): Promise<void> {
    const relayId = `00000000-0000-4000-9000-${String(++this.#relayIds).padStart(12, '0')}`
    const relay = new Stepper(this.outbox.url, { relayId, batchSize: 8, maxInFlight: 24 })
    await relay.open(this.random() < 0.5 ? 3 : 8)
    this.relays.push(relay)
    this.inHand.set(relay, [])
  }

  async write(): Promise<void> {
    const writer = this.pick(this.writers)
    if (writer.key === null) {
      const taken = new Set(this.writers.map((w) => w.key))
      writer.key = this.pick(Array.from({ length: 12 }, (_, i) => `key ${i}`).filter((key) => !taken.has(key)))
      await writer.client.query('begin')
    }
    const payload = `event ${++this.#events}`
    await insert(writer.client, payload, writer.key)
    writer.written.push(payload)
  }

  async end(writer: Writer, commit: boolean): Promise<void> {
    if (writer.key === null) return
    await writer.client.query(commit ? 'commit' : 'rollback')
    if (commit) for (const payload of writer.written) this.committed.push({ payload, key: writer.key })
    writer.key = null
    writer.written.length = 0
  }

  async read(relay: Stepper, afterMs = this.pick([0, 10, 60, 150, 1_200])): Promise<number> {
    const hand = this.inHand.get(relay)!
    relay.clock.nowMs += afterMs
    const looked = new AbortController()
    relay.clock.onRest = () => looked.abort()
    const room = new Map<number, number>()
    for (let lane = 0; lane < 8; lane++) {
      const left = 8 - hand.filter((m) => m.lane === lane).length
      if (this.random() < 0.8) room.set(lane, left)
    }
    const messages = await relay.source.read({ room, maxBytes: 1_000, signal: looked.signal })
    hand.push(...messages)
    this.handedOut.push(...messages)
    return messages.length
  }

  /** Settles some keys' messages wholly, out of order among the keys. */
  async settle(relay: Stepper, share = 0.5): Promise<void> {
    const hand = this.inHand.get(relay)!
    const keys = new Set(hand.map((m) => m.key).filter(() => this.random() < share))
    const settling = hand.filter((m) => keys.has(m.key))
    this.inHand.set(
      relay,
      hand.filter((m) => !keys.has(m.key)),
    )
    if (settling.length > 0) expect((await relay.source.settle(delivered(settling))).lost).toEqual([])
  }

  /** Gives back lanes of which it has nothing in hand; another relay takes what is free. */
  async handOver(relay: Stepper): Promise<void> {
    const busy = new Set(this.inHand.get(relay)!.map((m) => m.lane))
    await relay.source.ownership.release([0, 1, 2, 3, 4, 5, 6, 7].filter((lane) => !busy.has(lane) && this.random() < 0.5))
    await this.pick(this.relays).acquire(this.pick([1, 2, 8]))
  }

  /** The process ends without a word; its leases run out. */
  async crash(relay: Stepper): Promise<Message[]> {
    await relay.close()
    this.relays.splice(this.relays.indexOf(relay), 1)
    const hand = this.inHand.get(relay)!
    this.inHand.delete(relay)
    await this.outbox.admin.query(
      `update outrider.outbox_lease set ends_at = clock_timestamp() - interval '1 s' where not (owner = any($1))`,
      [this.relays.map((r) => r.relayId)],
    )
    return hand
  }

  async drain(): Promise<void> {
    for (const writer of this.writers) await this.end(writer, true)
    for (let vain = 0; vain < 6;) {
      let any = 0
      for (const relay of this.relays) {
        await relay.acquire()
        any += await this.read(relay, 300)
        any += this.inHand.get(relay)!.length
        await this.settle(relay, 1)
      }
      vain = any === 0 ? vain + 1 : 0
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.relays.map((relay) => relay.close()))
  }
}

describePostgres('lanes handed from relay to relay', () => {
  let outbox: Outbox
  let scene: Scene

  beforeEach(async () => {
    outbox = await createOutbox()
  })
  afterEach(async () => {
    await scene.close()
    await outbox.close()
  })

  const play = async (seed: number, crashes: boolean): Promise<number> => {
    scene = new Scene(outbox, seed)
    await scene.addWriters(8)
    await scene.addRelay()
    await scene.addRelay()
    let repeatable = 0
    for (let i = 0; i < steps; i++) {
      const what = scene.random()
      if (what < 0.35) await scene.write()
      else if (what < 0.5) await scene.end(scene.pick(scene.writers), scene.random() < 0.75)
      else if (what < 0.75) await scene.read(scene.pick(scene.relays))
      else if (what < 0.9) await scene.settle(scene.pick(scene.relays))
      else if (what < 0.98 || !crashes) await scene.handOver(scene.pick(scene.relays))
      else {
        await scene.crash(scene.pick(scene.relays))
        repeatable += 8 * 24
        await scene.addRelay()
      }
    }
    await scene.drain()
    return repeatable
  }

  const committed = () => scene.committed.map((c) => c.payload).toSorted()

  test.each(seeds)('in an undisturbed run every event once, in order by key (seed %i)', { timeout: 60_000 + steps * 50 }, async (seed) => {
    await play(seed, false)
    expect(scene.handedOut.map(text).toSorted()).toEqual(committed())
    for (const key of new Set(scene.committed.map((c) => c.key))) {
      const seqs = scene.handedOut.filter((m) => m.key === key).map((m) => m.seq)
      expect(seqs).toEqual(seqs.toSorted((a, b) => (a < b ? -1 : 1)))
    }
    await Promise.all(scene.relays.map((relay) => relay.read(1_500)))
    expect((await outbox.admin.query('select from outrider.outbox_gap')).rowCount).toBe(0)
  })

  test.each(seeds)(
    'with crashes nothing is lost, first occurrences are in order (seed %i)',
    { timeout: 60_000 + steps * 50 },
    async (seed) => {
      const repeatable = await play(seed, true)
      const first = new Map(scene.handedOut.toReversed().map((m) => [m.seq, m]))
      expect([...first.values()].map(text).toSorted()).toEqual(committed())
      expect(scene.handedOut.length - first.size).toBeLessThanOrEqual(repeatable)
      for (const key of new Set(scene.committed.map((c) => c.key))) {
        const seen = new Set<bigint>()
        const order = scene.handedOut.filter((m) => m.key === key && !seen.has(m.seq) && seen.add(m.seq)).map((m) => m.seq)
        expect(order).toEqual(order.toSorted((a, b) => (a < b ? -1 : 1)))
      }
    },
  )
})
