// What each safety is for, made to happen. With the safety the judge finds nothing; with it switched off in every relay he must find the damage.
import { setTimeout as pause } from 'node:timers/promises'
import type { Client } from 'pg'
import type { Message, Publisher, Source } from '../src/core/index.ts'
import { allSafe, type Safeties } from '../src/databases/postgres/log/safeties.ts'
import type { Field } from './faults.ts'
import type { Relay } from './fleet.ts'
import type { Break } from './kinds.ts'
import { connect, place, raise } from './shop.ts'
import { outboxOf } from './transactions.ts'

/** What the relays of such a run read with. */
export function safetiesOf(broken: Break | null): Safeties {
  return {
    ...allSafe,
    ...(broken === 'gap' ? { waitForHolders: false } : {}),
    ...(broken === 'order' ? { lateFirst: false } : {}),
    ...(broken === 'fencing' ? { compareToken: false } : {}),
  }
}

/** A lane that changes hands publishes under another producer id: nothing shuts out what its former holder sent. */
export function withoutEpochs(honest: Publisher): Publisher {
  const { fence } = honest
  if (fence === undefined) return honest
  return {
    name: honest.name,
    order: honest.order,
    limits: honest.limits,
    ...(honest.group === undefined ? {} : { group: honest.group.bind(honest) }),
    publish: (batch, context) => honest.publish(batch, context),
    fence: { advance: (lane) => fence.advance(lane, null), enter: (lane, next) => fence.enter(lane, next) },
    check: () => honest.check(),
    close: () => honest.close(),
  }
}

/** What committed late is handed on after what was found beside it, and not before. */
export function windowFirst(honest: Source): Source {
  let late: Message[] = []
  return {
    name: honest.name,
    ownership: honest.ownership,
    open(context) {
      late = []
      return honest.open(context)
    },
    async read(request) {
      const now = late.filter(({ lane }) => request.room.has(lane))
      late = late.filter(({ lane }) => !request.room.has(lane))
      if (now.length > 0) return now
      const highest = new Map<number, bigint>()
      const window: Message[] = []
      for (const message of await honest.read(request)) {
        const before = highest.get(message.lane) ?? 0n
        if (message.seq < before) late.push(message)
        else window.push(message)
        highest.set(message.lane, message.seq > before ? message.seq : before)
      }
      return window
    },
    settle: (settlements) => honest.settle(settlements),
    storeFence: (lane, fence) => honest.storeFence(lane, fence),
    lag: () => honest.lag(),
    kick: () => honest.kick(),
    close: () => honest.close(),
  }
}

/** Each makes its rule's case once. Rejects when it could not. */
export const scenarios: Readonly<Record<Break, (field: Field, broken: Break | null) => Promise<void>>> = {
  /** A transaction that takes its number early and commits late. */
  async gap(field) {
    const late = await openWriter(field)
    await late.client.query('begin')
    await late.write('k1')
    await pause(2_000)
    await late.client.query('commit')
    await late.client.end()
  },

  /** Two transactions of one key; the second waits for the first, and one look of the relay finds both. */
  async order(field) {
    const [first, second] = [await openWriter(field), await openWriter(field)]
    for (let turn = 0; turn < 5; turn++) {
      const key = `k${turn + 40}`
      await first.client.query('begin')
      await first.write(key)
      // The relay reads past the number.
      await pause(200)
      const relay = await holder(field.fleet)
      await relay.hold('read', 5_000)
      await first.client.query('commit')
      await second.commit(key)
      relay.goOn()
    }
    await first.client.end()
    await second.client.end()
  },

  /** Bytes of a relay that died arrive when its successor has gone on. */
  async epoch({ fleet, ways }) {
    const relay = await holder(fleet)
    const { kafka } = ways[relay.place]!
    kafka.set('hold')
    await kafka.caught(3_000)
    await pause(300)
    await relay.kill()
    await until('another relay has settled more', fleet.settled + 500, async () => {
      // Started anew, it stands behind the same link: the lanes are not for it.
      if (relay.state.lanes > 0) await relay.kill()
      return fleet.settled
    })
    await Promise.race([kafka.release(), pause(5_000)])
  },

  /**
   * A relay stops with a number open and wakes when its successor has delivered it: its late settlement says that the number is open
   * still, and whoever takes the lane next sends it once more, behind newer messages of its key.
   */
  async fencing(field, broken) {
    const { fleet } = field
    const admin = await connect(field.databaseUrl)
    for (let tries = 0; tries < 4; tries++) {
      const relay = await holder(fleet)
      const late = await openWriter(field)
      const before = fleet.heldByOthers(relay)
      if (!(await relay.hold('settle', 5_000))) continue
      await late.client.query('begin')
      await late.write('k50')
      const { rows } = await late.client.query<{ seq: string }>(`select max(seq) as seq from outrider.outbox where aggregate_id = 'k50'`)
      const seq = rows[0]!.seq
      // The relay reads on and finds the number missing.
      await pause(300)
      relay.signal('SIGSTOP')
      await late.client.query('commit')
      for (let more = 0; more < 3; more++) await late.commit('k50')
      await late.client.end()
      await until('another relay took over', before + 1, () => fleet.heldByOthers(relay))
      const read = await admin.query<{ seq: string }>('select max(seq) as seq from outrider.outbox')
      await until('all that the stopped relay has read is settled', 1, async () =>
        (await isSettled(admin, '0', read.rows[0]!.seq)) ? 1 : 0,
      )
      relay.goOn()
      relay.signal('SIGCONT')
      const isBack = await until('the number is open again', 1, async () => ((await isSettled(admin, seq, seq)) ? 0 : 1), 3_000).then(
        () => true,
        () => false,
      )
      await (await holder(fleet)).kill()
      if (isBack || broken === null) break
    }
    await admin.end()
  },
}

async function isSettled(admin: Client, from: string, to: string): Promise<boolean> {
  const { rows } = await admin.query<{ done: boolean }>(
    `select (select min(upto) from outrider.outbox_position) >= $2::bigint
       and not exists (select from outrider.outbox_gap where hi >= $1::bigint and lo <= $2::bigint) as done`,
    [from, to],
  )
  return rows[0]!.done
}

interface LateWriter {
  readonly client: Client
  /** Raises the counter and writes the event, in the transaction that is open. */
  write(key: string): Promise<void>
  /** The same in a transaction of its own. */
  commit(key: string): Promise<void>
}

async function openWriter({ databaseUrl, topic }: Field): Promise<LateWriter> {
  const client = await connect(databaseUrl)
  const outbox = outboxOf(topic)
  const write = async (key: string): Promise<void> => {
    const { rows } = await client.query<{ n: string }>(raise, [key])
    const { n } = rows[0]!
    const { id } = await outbox.write(client, 'Placed', { key, n })
    await client.query(place, [id, key, n])
  }
  return {
    client,
    write,
    async commit(key) {
      await client.query('begin')
      await write(key)
      await client.query('commit')
    },
  }
}

async function holder(fleet: Field['fleet']): Promise<Relay> {
  await until('a relay holds lanes', 1, () => (fleet.holder() === null ? 0 : 1))
  return fleet.holder()!
}

async function until(what: string, wanted: number, figure: () => number | Promise<number>, maxMs = 15_000): Promise<void> {
  const endsAtMs = performance.now() + maxMs
  while ((await figure()) < wanted) {
    if (performance.now() > endsAtMs) throw new Error(`Not within ${maxMs} ms: ${what}.`)
    await pause(20)
  }
}
