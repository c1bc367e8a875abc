// What goes wrong, one function a kind. Each resolves when the fault is over, with whether it struck.
import { setTimeout as pause } from 'node:timers/promises'
import type { KafkaCluster } from '../servers/kafka.ts'
import type { PostgresServer } from '../servers/postgres.ts'
import type { PausePoint } from '../src/relay/index.ts'
import type { TcpProxy } from '../src/testing/proxy.ts'
import type { Fleet, Relay } from './fleet.ts'
import type { Random } from './random.ts'
import { reconnect } from './shop.ts'

/** The two links of the relay at one place. */
export interface Way {
  readonly database: TcpProxy
  readonly kafka: TcpProxy
}

export interface Field {
  readonly ways: readonly Way[]
  readonly fleet: Fleet
  readonly database: PostgresServer
  readonly kafka: KafkaCluster
  readonly databaseUrl: string
  readonly topic: string
  readonly leaseMs: number
  readonly publishTimeoutMs: number
}

export type Fault = (field: Field, random: Random) => Promise<boolean>

const points: readonly PausePoint[] = ['read', 'accepted', 'settle']
const holdWithinMs = 1_500
/** After an outage nobody holds a lane for a while. */
const holderWithinMs = 6_000

async function holderOf(fleet: Fleet): Promise<Relay | null> {
  const endsAtMs = performance.now() + holderWithinMs
  while (fleet.holder() === null && performance.now() < endsAtMs) await pause(20)
  return fleet.holder()
}

/** Those that concern one relay. */
export const relayFaults = {
  /** Counts with messages in flight only. */
  async relay_killed({ fleet }, random) {
    const victim = await holderOf(fleet)
    if (victim === null) return false
    if (random.chance(0.7)) await victim.hold(random.pick(['accepted', 'settle']), holdWithinMs)
    return (await victim.kill()) > 0
  },

  /** SIGSTOP, and SIGCONT when the lease has run out. Counts when another relay took a lane meanwhile. */
  async relay_stopped({ fleet, leaseMs }, random) {
    const victim = await holderOf(fleet)
    if (victim === null) return false
    // With the settlement still to come, it comes late.
    if (random.chance(0.6)) await victim.hold(random.pick(points), holdWithinMs)
    const before = fleet.heldByOthers(victim)
    victim.signal('SIGSTOP')
    const atMs = performance.now()
    const hasMoved = (): boolean => fleet.heldByOthers(victim) > before
    while (!hasMoved() && performance.now() - atMs < 4 * leaseMs) await pause(20)
    const isMoved = hasMoved()
    // Its successor has come so far in the meantime.
    await pause(random.between(0, leaseMs))
    // Waits in its pipe: what it does first when it wakes is what it was about to do.
    victim.goOn()
    victim.signal('SIGCONT')
    return isMoved
  },
} satisfies Record<string, Fault>

/** Those that concern everybody. */
export const serverFaults = {
  /** As an administrator or a fail-over does: of all, or of the relays. */
  async backends_terminated({ databaseUrl }, random) {
    const admin = await reconnect(databaseUrl)
    try {
      const { rowCount } = await admin.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
         and backend_type = 'client backend' and (application_name like 'outrider%' or $1)`,
        [random.chance(0.5)],
      )
      return (rowCount ?? 0) > 0
    } finally {
      await admin.end().catch(() => undefined)
    }
  },

  async postgres_restarted({ database }, random) {
    await database.stop()
    await pause(random.between(0, 1_000))
    await database.start()
    return true
  },

  async postgres_killed({ database }, random) {
    await database.kill()
    await pause(random.between(0, 500))
    await database.start()
    return true
  },

  async kafka_restarted({ kafka }) {
    await kafka.nodes[0]!.stop()
    await kafka.nodes[0]!.start()
    return true
  },

  async kafka_killed({ kafka }, random) {
    await kafka.nodes[0]!.kill()
    await pause(random.between(0, 500))
    await kafka.nodes[0]!.start()
    return true
  },
} satisfies Record<string, Fault>

const isCaughtWithinMs = 2_000
/** A server that was restarted meanwhile has nobody to answer. */
const releaseWithinMs = 5_000

/** The link of whoever holds the lanes, or now and then of another. */
async function linkOf(
  { fleet, ways }: Field,
  random: Random,
  link: keyof Way,
): Promise<{ readonly relay: Relay; readonly proxy: TcpProxy } | null> {
  const relay = random.chance(0.85) ? await holderOf(fleet) : random.pick(fleet.all())
  const way = relay === null ? undefined : ways[relay.place]
  return relay === null || way === undefined ? null : { relay, proxy: way[link] }
}

/** Bytes vanish, in both directions or on the way back only. Connections end when the link is sound again: what is missing is never made up for. */
function blackHoled(link: keyof Way): Fault {
  return async (field, random) => {
    const found = await linkOf(field, random, link)
    if (found === null) return false
    const { proxy } = found
    proxy.set(random.pick(['blackHole', 'dropReplies']))
    await Promise.race([proxy.caught(), pause(isCaughtWithinMs)])
    await pause(random.between(200, 2 * field.leaseMs))
    const hasStruck = proxy.caughtBytes > 0
    proxy.reset()
    proxy.set('pass')
    return hasStruck
  }
}

/** All connections at once, or one in the middle of a request. */
function reset(link: keyof Way): Fault {
  return async (field, random) => {
    const found = await linkOf(field, random, link)
    if (found === null || found.relay.state.lanes === 0) return false
    if (random.chance(0.5)) found.proxy.reset()
    else found.proxy.cutAfter(Math.floor(random.between(1, 3_000)))
    return true
  }
}

/** What the relay sends is late, now and then so late that the relay is dead by then and another has gone on. */
function held(link: keyof Way): Fault {
  return async (field, random) => {
    const found = await linkOf(field, random, link)
    if (found === null) return false
    const { relay, proxy } = found
    proxy.set('hold')
    await Promise.race([proxy.caught(), pause(isCaughtWithinMs)])
    if (random.chance(0.4)) await relay.kill()
    await pause(random.between(200, 2.5 * field.leaseMs))
    const hasStruck = proxy.caughtBytes > 0
    await Promise.race([proxy.release(), pause(releaseWithinMs)])
    return hasStruck
  }
}

/** Those that concern the bytes between one relay and a server. */
export const linkFaults = {
  database_link_black_holed: blackHoled('database'),
  database_link_reset: reset('database'),
  database_link_held: held('database'),
  kafka_link_black_holed: blackHoled('kafka'),
  kafka_link_reset: reset('kafka'),
  kafka_link_held: held('kafka'),
} satisfies Record<string, Fault>
