import type { Grant, Message, Report } from '../core/index.ts'
import type { Alarm } from './alarms.ts'
import type { Group } from './group.ts'

/** A (topic, key) whose first message was refused: the others wait behind it. */
export interface Blocked {
  head: Message
  readonly waiting: Message[]
  readonly group: Group
  isFailed: boolean
  /** Rings when the head is due; null while it is offered again. */
  alarm: Alarm | null
}

/**
 * What this relay holds of a lane under one token. Lost, it is gone for good: a lane acquired again is another object,
 * so nothing that comes late can be taken for its own.
 */
export class Lane {
  readonly number: number
  readonly token: bigint
  fence: Uint8Array | null
  /** On the monotonic clock, counted from before the lease was asked for. */
  leaseEndsMs: number
  /** Nothing is read or published for a lane before it is `ready`. */
  state: 'fencing' | 'ready' | 'gone' = 'fencing'
  /** Handed out and not settled. */
  held = 0
  /** Of these: at the broker. */
  atBroker = 0
  /** Of these: accepted, the settlement is under way. */
  accepted = 0
  /** Of these: their key is blocked. */
  blockedMessages = 0
  isStale = false
  readonly groups = new Map<string, Group>()
  /** Groups that have messages and nothing at the broker. */
  readonly waiting = new Set<Group>()
  readonly blocked = new Map<string, Blocked>()
  readonly #gone = new AbortController()

  constructor(grant: Grant, leaseEndsMs: number) {
    this.number = grant.lane
    this.token = grant.token
    this.fence = grant.fence
    this.leaseEndsMs = leaseEndsMs
  }

  get isGone(): boolean {
    return this.state === 'gone'
  }

  /** Aborts when the lane is gone. */
  get signal(): AbortSignal {
    return this.#gone.signal
  }

  end(): void {
    this.state = 'gone'
    this.#gone.abort()
  }
}

export type LossReason = 'token' | 'lease' | 'source'

/** The lanes that this relay holds now. */
export class Lanes {
  /** Told after a lane was dropped. */
  onDropped: (lane: Lane) => void = () => {}
  readonly #byNumber = new Map<number, Lane>()
  readonly #report: Report

  constructor(report: Report) {
    this.#report = report
  }

  get size(): number {
    return this.#byNumber.size
  }

  get(number: number): Lane | undefined {
    return this.#byNumber.get(number)
  }

  all(): Lane[] {
    return [...this.#byNumber.values()]
  }

  add(lane: Lane): void {
    this.#byNumber.set(lane.number, lane)
    this.#report({ name: 'lane.acquired', lane: lane.number, token: lane.token })
  }

  /** Forgets a lane and all that was held of it. */
  drop(lane: Lane, reason: LossReason): void {
    if (lane.isGone) return
    const inFlight = lane.atBroker + lane.accepted
    this.#remove(lane)
    this.#report({ name: 'lane.lost', lane: lane.number, inFlight, reason })
    this.onDropped(lane)
  }

  released(lane: Lane): void {
    if (lane.isGone) return
    this.#remove(lane)
    this.#report({ name: 'lane.released', lane: lane.number })
  }

  #remove(lane: Lane): void {
    lane.end()
    this.#byNumber.delete(lane.number)
  }
}
