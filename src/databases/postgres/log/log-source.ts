// The source that reads the outbox as a log: by position, with the gap rule. Memory is worth nothing after a lost connection.
import {
  OutriderError,
  type Grant,
  type Lag,
  type Message,
  type Ownership,
  type ReadRequest,
  type Settlement,
  type Source,
  type SourceContext,
  type SourceInfo,
} from '../../../core/index.ts'
import { addressOf } from '../classify.ts'
import { loadPg, type PgConnection } from '../client.ts'
import { Connection } from '../connection.ts'
import { namesOf, quoteName, type Names, type OutboxNames } from '../names.ts'
import { acquire, release, renew, store } from '../ownership.ts'
import { listen, readLag } from '../queries.ts'
import { setUp, type Setup } from '../setup.ts'
import { LanePosition } from './lane-position.ts'
import { Reader } from './reader.ts'
import { allSafe, type Safeties } from './safeties.ts'
import { writePlans, type Planned } from './settlement.ts'

/** A lane without messages moves on at most once in this time. */
const idleAdvanceMs = 1_000
/** A full lane that was handed something within this time is waited for; after that the others go on without it. */
const movingMs = 50
const firstPollMs = 10
/** A reason of one's own: without one, each abort makes an error with a stack. */
const wake = 'there may be something to read'
/** With open numbers younger than a while, late commits are looked for this often at least. */
const openPollMs = 50

export interface LogSourceOptions extends OutboxNames {
  readonly connection: PgConnection
  readonly pollMs: number
  readonly timeoutMs: number
  readonly safeties?: Safeties
}

/** All that is known while one connection lives. */
interface Held {
  readonly connection: Connection
  readonly setup: Setup
  readonly reader: Reader
  readonly positions: Map<number, LanePosition>
  /** Read, but handed out only when the relay has room. */
  readonly queues: Map<number, Message[]>
}

export class LogSource implements Source {
  readonly name = 'postgres log'
  readonly ownership: Ownership
  readonly #options: LogSourceOptions
  readonly #names: Names
  #context: SourceContext | null = null
  #held: Held | null = null
  #settling: Promise<unknown> = Promise.resolve()
  #wake: () => void = () => undefined
  /** A kick that came while nobody waited. */
  #kicked = false
  #pollMs = firstPollMs
  #closed = false

  constructor(options: LogSourceOptions) {
    this.#options = options
    this.#names = namesOf(options)
    this.ownership = {
      acquire: (request) => this.#acquire(request.leaseMs, request.max),
      renew: (request) => this.#renew(request.leaseMs),
      release: (lanes) => this.#release(lanes),
    }
  }

  async open(context: SourceContext): Promise<SourceInfo> {
    this.#held?.connection.destroy()
    this.#held = null
    this.#closed = false
    this.#context = context
    const { connection: target, timeoutMs } = this.#options
    const connection = await Connection.open({
      openSession: await loadPg(),
      connection: target,
      address: addressOf(target),
      clock: context.clock,
      timeoutMs,
    })
    try {
      const setup = await setUp(connection, this.#names, timeoutMs)
      connection.onNotify(() => this.kick())
      await connection.own({ text: listen(quoteName(`${this.#names.schema}_${this.#names.table}`)) })
      if (this.#closed) throw new OutriderError('CLOSED', 'The source was closed while it was opened.')
      const reader = new Reader(connection, setup, this.#names, context, this.#options.safeties ?? allSafe)
      this.#held = { connection, setup, reader, positions: new Map(), queues: new Map() }
      this.#pollMs = firstPollMs
      return { lanes: setup.lanes }
    } catch (error) {
      connection.destroy()
      throw error
    }
  }

  async read({ room, maxBytes, signal }: ReadRequest): Promise<Message[]> {
    const held = this.#alive()
    while (!signal.aborted && !this.#closed) {
      // A large transaction that committed late comes all at once: it is handed on before more is read.
      if (queued(held).messages >= 2 * this.#context!.batchSize * held.setup.lanes) {
        const out = this.#takeFrom(held, room)
        if (out.length > 0) return out
      }
      const wanted = this.#wanted(held, room, maxBytes)
      if (wanted === 'soon') {
        const out = this.#takeFrom(held, room)
        if (out.length > 0) return out
        await this.#wait(movingMs, signal)
        continue
      }
      const startedMs = this.#context!.clock.monotonicMs()
      const { messages, late } = await held.reader.cycle(held.positions, wanted, maxBytes)
      if (messages.length > 0) {
        const bytes = messages.reduce((sum, message) => sum + (message.payload?.length ?? 0), 0)
        this.#context!.report({
          name: 'read.done',
          messages: messages.length,
          bytes,
          late,
          ms: this.#context!.clock.monotonicMs() - startedMs,
        })
      }
      for (const message of messages) {
        const queue = held.queues.get(message.lane)
        if (queue !== undefined) queue.push(message)
      }
      const out = this.#takeFrom(held, room)
      if (out.length > 0 || messages.length > 0) this.#pollMs = firstPollMs
      if (out.length > 0) return out
      await this.#advanceIdle(held)
      if (messages.length === 0) await this.#rest(held, signal)
    }
    if (held.connection.lost !== null) throw held.connection.lost
    return this.#takeFrom(held, room)
  }

  async settle(settlements: readonly Settlement[]): Promise<{ lost: readonly number[] }> {
    const held = this.#alive()
    for (const { message } of settlements) held.positions.get(message.lane)?.settled(message.seq)
    const touched = new Set(settlements.map((s) => s.message.lane))
    const { clock, report } = this.#context!
    const startedMs = clock.monotonicMs()
    const unknown = [...touched].filter((lane) => !held.positions.has(lane))
    const lost = [...unknown, ...(await this.#write(held, touched))]
    report({ name: 'settle.done', messages: settlements.length, lost: lost.length, ms: clock.monotonicMs() - startedMs })
    return { lost }
  }

  async storeFence(lane: number, fence: Uint8Array): Promise<boolean> {
    const held = this.#alive()
    const position = held.positions.get(lane)
    if (position === undefined) return false
    const stored = await store(held.connection, this.#names, position, fence)
    if (!stored) this.#drop(held, lane)
    return stored
  }

  async lag(): Promise<Lag> {
    const held = this.#alive()
    const [row] = await held.connection.own<{ backlog: string; oldest_ms: number }>({ text: readLag(this.#names, held.setup.sequence) })
    return { backlog: Number(row!.backlog), oldestMs: Math.max(Math.round(row!.oldest_ms), 0) }
  }

  kick(): void {
    this.#kicked = true
    this.#wake()
  }

  async close(): Promise<void> {
    this.#closed = true
    this.kick()
    const held = this.#held
    this.#held = null
    await held?.connection.close()
  }

  #alive(): Held {
    if (this.#held === null)
      throw new OutriderError('CLOSED', 'The source is not open: nothing was read or settled.', { hint: 'Call open first.' })
    if (this.#held.connection.lost !== null) throw this.#held.connection.lost
    return this.#held
  }

  async #acquire(leaseMs: number, max: number): Promise<readonly Grant[]> {
    const held = this.#alive()
    const acquired = await acquire(held.connection, this.#names, this.#context!.relayId, leaseMs, max, [...held.positions.keys()])
    for (const { grant, upto, ctid, gaps } of acquired) {
      held.positions.set(grant.lane, new LanePosition({ lane: grant.lane, token: grant.token, upto, ctid, gaps }))
      held.queues.set(grant.lane, [])
      held.reader.watch(gaps, held.positions)
    }
    if (acquired.length > 0) this.kick()
    return acquired.map((a) => a.grant)
  }

  async #renew(leaseMs: number): Promise<{ lost: readonly number[] }> {
    const held = this.#alive()
    const before = [...held.positions.keys()]
    const ours = await renew(held.connection, this.#names, this.#context!.relayId, leaseMs, this.#context!.relayName)
    const lost = before.filter((lane) => !ours.has(lane))
    for (const lane of lost) this.#drop(held, lane)
    return { lost }
  }

  async #release(lanes: readonly number[]): Promise<void> {
    const held = this.#alive()
    const mine = lanes.filter((lane) => held.positions.has(lane))
    await this.#write(held, new Set(mine), true)
    for (const lane of mine) this.#drop(held, lane)
    await release(held.connection, this.#names, this.#context!.relayId, lanes)
  }

  #drop(held: Held, lane: number): void {
    held.positions.delete(lane)
    held.queues.delete(lane)
  }

  /**
   * For whom the next window reads: when a lane has room and nothing is ready for it, for all whose queues are short. A lane
   * that is full for a moment gets its rows along with the others; left behind, it would need the same window once more.
   * `soon`: a lane with more than its share of the rows is still busy with them.
   */
  #wanted(held: Held, room: ReadonlyMap<number, number>, maxBytes: number): LanePosition[] | 'soon' {
    const { batchSize, maxInFlight } = this.#context!
    const now = this.#context!.clock.monotonicMs()
    let isMoving = false
    const hungry: LanePosition[] = []
    const others: LanePosition[] = []
    for (const position of held.positions.values()) {
      const { length } = held.queues.get(position.lane)!
      if (length === 0 && (room.get(position.lane) ?? 0) > 0 && position.readAbove < maxInFlight) hungry.push(position)
      else if (length <= batchSize) others.push(position)
      else if (now - position.handedOutMs < movingMs) isMoving = true
    }
    if (hungry.length === 0) return []
    if (isMoving) return 'soon'
    return queued(held).bytes < maxBytes ? [...hungry, ...others] : hungry
  }

  /** Takes from each queue as many as there is room for, and as may be repeated after a crash. */
  #takeFrom(held: Held, room: ReadonlyMap<number, number>): Message[] {
    const now = this.#context!.clock.monotonicMs()
    const out: Message[] = []
    for (const [lane, queue] of held.queues) {
      if (queue.length === 0) continue
      const position = held.positions.get(lane)!
      const most = Math.min(room.get(lane) ?? 0, this.#context!.maxInFlight - (position.readAbove - queue.length))
      if (most <= 0) continue
      position.handedOutMs = now
      for (const message of queue.length <= most ? queue.splice(0) : queue.splice(0, most)) out.push(message)
    }
    return out
  }

  /** Writes what has changed for these lanes, and for idle ones whose position has not been written for a while. One at a time. */
  async #write(held: Held, lanes: ReadonlySet<number>, last = false): Promise<number[]> {
    const before = this.#settling
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#settling = promise
    try {
      await before
      if (held.connection.lost !== null) throw held.connection.lost
      const now = this.#context!.clock.monotonicMs()
      const planned: Planned[] = []
      for (const position of held.positions.values()) {
        if (!lanes.has(position.lane) && now - position.writtenMs < idleAdvanceMs) continue
        // The next holder reads on from what is written: nothing young holds the position back any more.
        const plan = position.plan(held.reader.open.ranges, last && lanes.has(position.lane) ? Infinity : now)
        if (plan !== null) planned.push({ position, plan })
      }
      if (planned.length === 0) return []
      const { compareToken } = this.#options.safeties ?? allSafe
      const lost = await writePlans(held.connection, this.#names, planned, () => this.#context!.clock.monotonicMs(), compareToken)
      for (const lane of lost) this.#drop(held, lane)
      return lost
    } finally {
      resolve()
    }
  }

  /** Without settlements nothing else would move idle lanes, or strike gap rows that are resolved. */
  async #advanceIdle(held: Held): Promise<void> {
    const now = this.#context!.clock.monotonicMs()
    for (const position of held.positions.values()) {
      if (now - position.writtenMs >= idleAdvanceMs) {
        await this.#write(held, new Set())
        return
      }
    }
  }

  /** Waits for the next look: longer each time that there was nothing, shorter while numbers are open. */
  async #rest(held: Held, signal: AbortSignal): Promise<void> {
    const { ranges } = held.reader.open
    const youngest = ranges.reduce((latest, r) => Math.max(latest, r.sinceMs), -Infinity)
    const now = this.#context!.clock.monotonicMs()
    const most = now - youngest < 10_000 ? Math.min(openPollMs, this.#options.pollMs) : this.#options.pollMs
    await this.#wait(Math.min(this.#pollMs, most), signal)
    this.#pollMs = Math.min(this.#pollMs * 2, this.#options.pollMs)
  }

  async #wait(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.#kicked) {
      const woken = new AbortController()
      this.#wake = () => woken.abort(wake)
      const stop = () => woken.abort(wake)
      signal.addEventListener('abort', stop, { once: true })
      if (signal.aborted) woken.abort(wake)
      await this.#context!.clock.sleep(ms, woken.signal)
      signal.removeEventListener('abort', stop)
      this.#wake = () => undefined
    }
    if (this.#kicked) this.#pollMs = firstPollMs
    this.#kicked = false
  }
}

/** What was read and not handed out yet. */
function queued(held: Held): { messages: number; bytes: number } {
  let messages = 0
  let bytes = 0
  for (const queue of held.queues.values()) {
    messages += queue.length
    for (const { payload } of queue) bytes += payload?.length ?? 0
  }
  return { messages, bytes }
}
