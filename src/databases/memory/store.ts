import type { ContentType, Grant, Message, OutboxRow } from '../../core/index.ts'
import { laneOf } from '../postgres/lane.ts'

/** A committed row: visible, and settled once its delivery is recorded. */
export interface StoredRow {
  readonly message: Message
  settled: boolean
}

interface LaneState {
  /** Visible rows in order of `seq`, the settled ones at the front dropped. */
  rows: StoredRow[]
  token: bigint
  fence: Uint8Array | null
  owner: string | null
  endsAtMs: number
}

export interface NumberedRow extends OutboxRow {
  readonly seq: bigint
  readonly createdAt: string
}

export interface StoreOptions {
  readonly lanes: number
  readonly contentType: ContentType
  readonly nowMs: () => number
  readonly wallMs: () => number
}

const encoder = new TextEncoder()

/**
 * What the memory outbox holds in the place of a database: committed rows by lane, leases and tokens.
 * Numbers are taken at the insert and become visible at the commit, as in a real one, so a lower number can appear late.
 */
export class Store {
  readonly options: StoreOptions
  readonly lanes: readonly LaneState[]
  /** Every committed row, in order of commit, also those that are settled. */
  readonly log: StoredRow[] = []
  #lastSeq = 0n
  readonly #waiters = new Set<() => void>()

  constructor(options: StoreOptions) {
    this.options = options
    this.lanes = Array.from({ length: options.lanes }, () => ({ rows: [], token: 0n, fence: null, owner: null, endsAtMs: 0 }))
  }

  /** Gives a row its number. Like a sequence: not undone by a rollback. */
  number(row: OutboxRow, createdAt: string): NumberedRow {
    this.#lastSeq += 1n
    return { ...row, seq: this.#lastSeq, createdAt }
  }

  commit(rows: readonly NumberedRow[]): void {
    for (const row of rows) {
      const lane = laneOf(row.key ?? row.aggregateId ?? row.id, this.options.lanes)
      const { rows: stored } = this.lane(lane)
      let at = stored.length
      while (at > 0 && (stored[at - 1]?.message.seq ?? 0n) > row.seq) at--
      const added: StoredRow = { message: messageOf(row, lane, this.options.contentType), settled: false }
      stored.splice(at, 0, added)
      this.log.push(added)
    }
    this.wake()
  }

  lane(lane: number): LaneState {
    const state = this.lanes[lane]
    if (state === undefined) throw new RangeError(`There is no lane ${lane}: they are numbered from 0 to ${this.lanes.length - 1}.`)
    return state
  }

  holds(owner: string, lane: number, token: bigint | undefined): boolean {
    const state = this.lane(lane)
    return state.owner === owner && state.token === token
  }

  /** Takes a lane for `owner` under a new token, whoever held it. */
  take(lane: number, owner: string, leaseMs: number): Grant {
    const state = this.lane(lane)
    state.owner = owner
    state.token += 1n
    state.endsAtMs = this.options.nowMs() + leaseMs
    this.wake()
    return { lane, token: state.token, fence: state.fence }
  }

  unsettled(): StoredRow[] {
    return this.lanes.flatMap((lane) => lane.rows.filter((row) => !row.settled))
  }

  /** Drops what is settled at the front. */
  compact(lane: number): void {
    const state = this.lane(lane)
    const first = state.rows.findIndex((row) => !row.settled)
    state.rows = first === -1 ? [] : first === 0 ? state.rows : state.rows.slice(first)
  }

  /** Calls `fn` at the next change, once. The answer takes it back. */
  onChange(fn: () => void): () => void {
    this.#waiters.add(fn)
    return () => void this.#waiters.delete(fn)
  }

  wake(): void {
    const waiters = [...this.#waiters]
    this.#waiters.clear()
    for (const waiter of waiters) waiter()
  }
}

function messageOf(row: NumberedRow, lane: number, contentType: ContentType): Message {
  return Object.freeze({
    id: row.id,
    seq: row.seq,
    lane,
    topic: row.topic ?? row.aggregateType,
    key: row.key ?? row.aggregateId,
    type: row.type,
    aggregateType: row.aggregateType,
    aggregateId: row.aggregateId,
    payload: typeof row.payload === 'string' ? encoder.encode(row.payload) : row.payload,
    contentType,
    headers: row.headers,
    createdAt: row.createdAt,
    attempt: 0,
  })
}
