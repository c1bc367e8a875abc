// The relay processes: each in a place of its own, started anew when it was killed or gave up.
import { setTimeout as pause } from 'node:timers/promises'
import type { PausePoint } from '../src/relay/index.ts'
import type { Break } from './kinds.ts'
import type { Random } from './random.ts'
import { startRole, type Role } from './role.ts'
import type { RelayState, RelayTalk } from './talk.ts'

export interface FleetOptions {
  readonly relays: number
  readonly leaseMs: number
  readonly publishTimeoutMs: number
  readonly random: Random
  /** What the relay at this place is told of the servers. */
  readonly way: (place: number) => { readonly databaseUrl: string; readonly brokers: readonly string[] }
  readonly broken: Break | null
  readonly clocksOffMs: readonly number[]
  /** A relay whose clock is off has settled something. */
  readonly onClockOff: () => void
}

export interface Relay {
  readonly place: number
  readonly state: RelayState
  readonly isRunning: boolean
  /** Stands still at the next passing of the point. Resolves with false when it doesn't come by within `maxMs`. */
  hold(at: PausePoint, maxMs: number): Promise<boolean>
  goOn(): void
  signal(name: 'SIGSTOP' | 'SIGCONT'): void
  /** SIGKILL. Resolves with the messages that were in flight. */
  kill(): Promise<number>
}

interface RssSample {
  readonly atMs: number
  readonly ageMs: number
  readonly bytes: number
}

export interface Fleet {
  /** Whoever holds most lanes; null when nobody holds any. */
  holder(): Relay | null
  all(): readonly Relay[]
  /** Lanes held by others than this one. */
  heldByOthers(relay: Relay): number
  readonly settled: number
  readonly rss: readonly RssSample[]
  /** What relays said when they ended, of that which a new start doesn't mend. */
  readonly failures: readonly string[]
  /** SIGTERM to all; resolves when all have ended, in order or not. */
  stop(): Promise<void>
  kill(): Promise<void>
}

const none: RelayState = { is: 'state', lanes: 0, inFlight: 0, settled: 0, lost: 0, rssBytes: 0 }
const stopWithinMs = 20_000

export function startFleet(options: FleetOptions): Fleet {
  const rss: RssSample[] = []
  const failures: string[] = []
  let isStopping = false
  let settledBefore = 0
  const relays = Array.from({ length: options.relays }, (_, place) => startPlace(place))

  function startPlace(place: number) {
    let role: Role<RelayTalk['order']>
    let state = none
    let startedMs = 0
    let isClockOffSeen = false
    let onHeld: (() => void) | null = null

    const start = (): void => {
      const clockOffMs = options.random.pick(options.clocksOffMs)
      state = none
      startedMs = performance.now()
      const { leaseMs, publishTimeoutMs, broken } = options
      const task = { ...options.way(place), leaseMs, publishTimeoutMs, clockOffMs, broken }
      isClockOffSeen = clockOffMs === 0
      const own = startRole<RelayTalk>('relay', task, (news) => {
        if (news.is === 'held') onHeld?.()
        if (news.is === 'failed' && !news.retryable) failures.push(`relay ${place}: ${news.text}`)
        if (news.is !== 'state') return
        state = news
        const atMs = performance.now()
        rss.push({ atMs, ageMs: atMs - startedMs, bytes: news.rssBytes })
        if (isClockOffSeen || news.settled === 0) return
        isClockOffSeen = true
        options.onClockOff()
      })
      role = own
      void own.exited.then(async (code) => {
        settledBefore += state.settled
        if (code !== null && code !== 0 && own.tail !== '') failures.push(`relay ${place} ended with ${code}: ${own.tail}`)
        await pause(options.random.between(100, 600))
        if (!isStopping) start()
      })
    }
    start()
    return {
      place,
      get state() {
        return state
      },
      get isRunning() {
        return role.isRunning
      },
      async hold(at: PausePoint, maxMs: number) {
        const held = new Promise<boolean>((resolve) => (onHeld = () => resolve(true)))
        role.tell({ do: 'hold', at })
        return Promise.race([held, role.exited.then(() => false), pause(maxMs, false)])
      },
      goOn: () => role.tell({ do: 'go on' }),
      signal: (name: 'SIGSTOP' | 'SIGCONT') => role.signal(name),
      async kill() {
        const own = role
        if (!own.isRunning) return 0
        own.signal('SIGKILL')
        await own.exited
        return state.inFlight
      },
      async stop() {
        const own = role
        if (!own.isRunning) return
        own.signal('SIGCONT')
        own.signal('SIGTERM')
        const late = setTimeout(() => {
          failures.push(`relay ${place} did not end within ${stopWithinMs} ms of SIGTERM`)
          own.signal('SIGKILL')
        }, stopWithinMs)
        await own.exited
        clearTimeout(late)
      },
    }
  }
  return {
    holder() {
      const most = relays.toSorted((a, b) => b.state.lanes - a.state.lanes)[0]
      return most !== undefined && most.isRunning && most.state.lanes > 0 ? most : null
    },
    all: () => relays,
    heldByOthers: (relay) => relays.filter((one) => one !== relay && one.isRunning).reduce((sum, one) => sum + one.state.lanes, 0),
    get settled() {
      return settledBefore + relays.reduce((sum, { isRunning, state }) => sum + (isRunning ? state.settled : 0), 0)
    },
    rss,
    failures,
    async stop() {
      isStopping = true
      await Promise.all(relays.map((relay) => relay.stop()))
    },
    async kill() {
      isStopping = true
      await Promise.all(relays.map((relay) => relay.kill()))
    },
  }
}
