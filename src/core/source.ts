import type { Clock } from './clock.ts'
import type { Report } from './catalogue.ts'
import type { Message } from './message.ts'
import type { Settlement } from './settlement.ts'

/**
 * Where the relay reads from, and where outcomes are recorded.
 *
 * The law of this contract:
 * - A committed message is handed out until it is settled: once in an undisturbed run, again after each loss of the
 *   lane. Never is a message that was not committed handed out.
 * - Messages of one lane come in the order of `seq`, but for those whose transaction committed late.
 * - Memory is worth nothing after a lost connection: every call then rejects with a retryable OutriderError `SOURCE_LOST`, all grants
 *   are gone, and the relay forgets all it holds and calls `open` again.
 * - Any other rejection is final: the relay stops and passes the error on.
 * - `read` and `settle` may overlap; there is one `read` at a time and one `settle` at a time.
 */
export interface Source {
  /** For people: `postgres log`. */
  readonly name: string
  /** Connects and checks that reading is safe here. After a `SOURCE_LOST` it starts anew from what is stored. */
  open(context: SourceContext): Promise<SourceInfo>
  /**
   * Waits for messages of lanes that have room, and hands them out: they are the relay's until it settles them.
   * Resolves with `[]` when `signal` aborts or when it merely looked in vain; what it has read by then is handed out by the next call.
   */
  read(request: ReadRequest): Promise<Message[]>
  /** Records outcomes. `lost`: lanes whose token is not ours any more, for which nothing was changed. */
  settle(settlements: readonly Settlement[]): Promise<{ readonly lost: readonly number[] }>
  readonly ownership: Ownership
  /** Stores a lane's fence durably (it survives a crash of the database) before it resolves. `false`: the lane is not ours any more. */
  storeFence(lane: number, fence: Uint8Array): Promise<boolean>
  /** How much is undelivered. Cheap, but not for every cycle. */
  lag(): Promise<Lag>
  /** There may be something to read: ends the wait of `read`. Never throws. */
  kick(): void
  /** Ends all connections; leases stay and run out. May be called twice, before `open`, and while `read` waits. */
  close(): Promise<void>
}

export interface SourceContext {
  /** Identity of this relay in the leases: a UUID, new for each start. */
  readonly relayId: string
  /** For people: host and process. */
  readonly relayName: string
  readonly clock: Clock
  readonly report: Report
  /** Most messages of a lane at the broker at once. */
  readonly batchSize: number
  /** Most numbers of a lane handed out above its position, settled or not. */
  readonly maxInFlight: number
}

export interface SourceInfo {
  /** Number of lanes; they are numbered from 0. */
  readonly lanes: number
}

export interface ReadRequest {
  /** Lane to number of messages wanted. Lanes that are missing, or at 0, get none. */
  readonly room: ReadonlyMap<number, number>
  /** Bytes of payload after which the answer ends; a single larger message still comes. */
  readonly maxBytes: number
  readonly signal: AbortSignal
}

/** The right to a lane. A grant with a new token is what a take-over gives. */
export interface Grant {
  readonly lane: number
  readonly token: bigint
  /** The fence stored with the lane, null if it never had one. */
  readonly fence: Uint8Array | null
}

/** Who may read and settle which lane, by leases on the source's clock. */
export interface Ownership {
  /** Takes up to `max` lanes that nobody holds, each with a new token. */
  acquire(request: { readonly leaseMs: number; readonly max: number }): Promise<readonly Grant[]>
  /** Extends the leases of all lanes held. `lost`: held no more. */
  renew(request: { readonly leaseMs: number }): Promise<{ readonly lost: readonly number[] }>
  /** Gives lanes back, for others to take at once. */
  release(lanes: readonly number[]): Promise<void>
}

export interface Lag {
  /** Undelivered messages; an estimate where counting is costly. */
  readonly backlog: number
  /** Age of the oldest undelivered message in milliseconds on the source's clock; 0 when there is none. */
  readonly oldestMs: number
}
