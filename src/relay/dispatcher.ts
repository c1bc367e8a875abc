// Between what was read and what was accepted: queues a lane and group, hands batches to the publisher, and keeps the order of each
// topic and key. One run of messages of a (topic, key) is at the broker at a time; nothing is dropped, ever.
import { blockOf, textOf } from '../core/index.ts'
import type { Clock, Message, Publisher, Report, Verdict } from '../core/index.ts'
import type { Alarms } from './alarms.ts'
import { Breaker } from './breaker.ts'
import { Flight, Flights } from './flights.ts'
import { Group } from './group.ts'
import type { Blocked, Lane, Lanes } from './lanes.ts'
import type { Settings } from './options.ts'
import { isAllAccepted, sortUnknown, sortVerdicts, withAttempt } from './verdicts.ts'
import type { Refusal, Sorted } from './verdicts.ts'

/** With several groups, no single one takes all of a lane's place at the broker: a slow one would hold up the others. */
const largestShare = 0.75
/** A publisher that makes up new groups for ever must not fill the memory. */
const maxIdleGroups = 10_000

export interface DispatcherParts {
  readonly settings: Settings
  readonly lanes: Lanes
  readonly alarms: Alarms
  readonly report: Report
  /** Accepted by the broker: to be settled. */
  readonly accepted: (lane: Lane, messages: readonly Message[]) => void
  /** Nobody knows what the broker has of this lane: it launches nothing before its fence has moved on. */
  readonly unknown: (lane: Lane) => void
  /** The lease would not outlive a publish. */
  readonly stale: () => void
  /** Something that can't be. */
  readonly failed: (error: unknown) => void
}

export class Dispatcher {
  readonly flights: Flights
  readonly #parts: DispatcherParts
  readonly #settings: Settings
  readonly #publisher: Publisher
  readonly #clock: Clock
  readonly #breaker: Breaker
  #offers = 0
  #isStopping = false

  constructor(parts: DispatcherParts) {
    this.#parts = parts
    this.#settings = parts.settings
    this.#publisher = parts.settings.publisher
    this.#clock = parts.settings.clock
    this.flights = new Flights(parts.alarms, this.#publisher.limits.publishTimeoutMs, (flight, error) => this.#end(flight, null, error))
    this.#breaker = new Breaker(parts.settings.policy, parts.alarms, parts.settings.random, (lanes) => this.#resume(lanes))
  }

  /**
   * Takes what was read.
   *
   * @param asked the lanes that were asked for; a lane lost meanwhile, even if it is held again, gets nothing of an older read
   */
  offer(messages: readonly Message[], asked: ReadonlyMap<number, Lane>): void {
    const offer = ++this.#offers
    const touched = new Set<Lane>()
    for (const message of messages) {
      const lane = asked.get(message.lane)
      if (lane === undefined || lane.isGone) continue
      touched.add(lane)
      lane.held++
      if (lane.blocked.size > 0 && message.key !== null) {
        const blocked = lane.blocked.get(blockOf(message))
        if (blocked !== undefined) {
          blocked.waiting.push(message)
          lane.blockedMessages++
          continue
        }
      }
      const group = this.#groupOf(lane, message, offer)
      group.add(message, offer)
      if (group.inFlight === null) lane.waiting.add(group)
    }
    for (const lane of touched) this.pump(lane)
  }

  /** Hands to the publisher what may go now. */
  pump(lane: Lane): void {
    if (lane.state !== 'ready' || this.#isStopping || lane.waiting.size === 0) return
    const { batchSize } = this.#settings
    let left = batchSize - lane.atBroker
    if (left <= 0) return
    const groups: Group[] = []
    for (const group of lane.waiting) if (this.#mayLaunch(group)) groups.push(group)
    if (groups.length === 0) return
    const { publishTimeoutMs } = this.#publisher.limits
    const leftMs = lane.leaseEndsMs - this.#clock.monotonicMs()
    if (leftMs < publishTimeoutMs) {
      if (!lane.isStale) this.#parts.report({ name: 'lane.stale', lane: lane.number, leftMs })
      lane.isStale = true
      this.#parts.stale()
      return
    }
    lane.isStale = false
    const most = this.#publisher.group === undefined ? batchSize : Math.max(1, Math.floor(batchSize * largestShare))
    // The shortest first, so that what they don't need is there for the long ones.
    if (groups.length > 1) groups.sort((a, b) => a.length - b.length)
    for (let i = 0; i < groups.length && left > 0; i++) {
      const group = groups[i]
      // One that was launched just now may have become the only probe.
      if (group === undefined || !this.#mayLaunch(group)) continue
      const share = Math.min(Math.ceil(left / (groups.length - i)), most)
      const batch = this.#publisher.order === 'single' ? group.takeDifferent(share) : group.take(share)
      left -= batch.length
      this.#launch(lane, group, batch)
    }
  }

  /** The lane is lost: what it has at the broker counts for nothing. */
  forget(lane: Lane): void {
    for (const group of lane.groups.values()) this.#breaker.forget(group)
    for (const blocked of lane.blocked.values()) this.#parts.alarms.cancel(blocked.alarm)
    this.flights.abort(lane)
  }

  /** Launches nothing more. */
  stop(): void {
    this.#isStopping = true
  }

  #mayLaunch(group: Group): boolean {
    return !group.isPaused && group.length > 0 && this.#breaker.allows(group) && !group.isBehind
  }

  #groupOf(lane: Lane, message: Message, offer: number): Group {
    const name = this.#publisher.group === undefined ? '' : this.#publisher.group(message)
    const known = lane.groups.get(name)
    if (known !== undefined) return known
    if (lane.groups.size >= maxIdleGroups) {
      for (const group of lane.groups.values()) if (group.length === 0 && group.inFlight === null) lane.groups.delete(group.name)
    }
    const group = new Group(name)
    if (message.key !== null) group.waitForEarlier(lane.groups.values(), message.topic, offer)
    lane.groups.set(name, group)
    return group
  }

  #launch(lane: Lane, group: Group, batch: readonly Message[]): void {
    lane.waiting.delete(group)
    lane.atBroker += batch.length
    group.inFlight = batch
    this.#breaker.launched(group)
    const flight = new Flight(lane, group, batch, this.#clock.monotonicMs())
    this.flights.add(flight)
    this.#parts.report({ name: 'publish.started', lane: lane.number, group: group.name, messages: batch.length })
    void this.#publish(flight)
  }

  async #publish(flight: Flight): Promise<void> {
    let verdicts: readonly Verdict[] | null = null
    let error: unknown = null
    try {
      verdicts = await this.#publisher.publish(flight.batch, { lane: flight.lane.number, signal: flight.signal })
      if (!Array.isArray(verdicts) || verdicts.length !== flight.batch.length) {
        error = new Error(
          `${this.#publisher.name} gave ${Array.isArray(verdicts) ? verdicts.length : 'no'} verdicts for ${flight.batch.length} messages.`,
        )
        verdicts = null
      }
    } catch (thrown) {
      error = thrown
    }
    try {
      if (verdicts !== null && this.#settings.pauses !== null && !flight.isOver) await this.#pauseAccepted(flight, verdicts)
      this.#end(flight, verdicts, error)
    } catch (bug) {
      this.#parts.failed(bug)
    }
  }

  async #pauseAccepted(flight: Flight, verdicts: readonly Verdict[]): Promise<void> {
    const accepted = flight.batch.filter((_, i) => verdicts[i]?.kind === 'accepted')
    if (accepted.length === 0) return
    // From here on only this process is slow, not the publisher.
    this.flights.answered(flight)
    try {
      await this.#settings.pauses?.('accepted', accepted)
    } catch {
      // A test's own affair.
    }
  }

  /** @param verdicts null: nothing is known */
  #end(flight: Flight, verdicts: readonly Verdict[] | null, error: unknown): void {
    if (flight.isOver) return
    const { lane, group, batch } = flight
    lane.atBroker -= batch.length
    group.inFlight = null
    this.flights.over(flight)
    const ms = this.#clock.monotonicMs() - flight.startedMs
    const done = (refused: number): void =>
      this.#parts.report({ name: 'publish.done', lane: lane.number, group: group.name, messages: batch.length, refused, ms })
    if (lane.isGone) return done(batch.length)
    if (verdicts !== null && isAllAccepted(verdicts)) {
      if (group.length > 0) lane.waiting.add(group)
      group.tries = 0
      this.#breaker.succeeded()
      done(0)
      this.#accept(lane, batch)
      this.pump(lane)
      return
    }
    const { policy, random } = this.#settings
    const sorted =
      verdicts === null
        ? sortUnknown(batch, textOf(error), policy, group.tries, random())
        : sortVerdicts(batch, verdicts, policy, group.tries, random())
    if (sorted.isUnknown) {
      const cause =
        error instanceof Error ? error : new Error(error === null ? `${sorted.why?.code}: ${sorted.why?.detail}` : textOf(error))
      this.#parts.report({ name: 'publish.unknown', lane: lane.number, group: group.name, messages: sorted.again.length, error: cause })
    }
    done(batch.length - sorted.accepted.length)
    this.#putInOrder(lane, group, sorted)
  }

  #putInOrder(lane: Lane, group: Group, sorted: Sorted): void {
    const { report } = this.#parts
    if (sorted.disordered > 0) report({ name: 'publish.disordered', lane: lane.number, group: group.name, messages: sorted.disordered })
    group.putBack(sorted.again)
    if (sorted.refused.length > 0) this.#block(lane, group, sorted.refused, sorted.behind)
    // After the others of its key are back or blocked: accepting a head lets those behind it go.
    this.#accept(lane, sorted.accepted)
    if (group.length > 0) lane.waiting.add(group)
    // First of all, so that nothing is launched for this lane meanwhile.
    if (sorted.isUnknown && this.#publisher.fence !== undefined) this.#parts.unknown(lane)
    const retryInMs = this.#rest(lane, group, sorted)
    if (sorted.why !== null && sorted.again[0] !== undefined)
      this.#reportRefused(sorted.again[0], sorted.why, sorted.again[0].attempt, retryInMs)
    this.pump(lane)
  }

  /** Decides when the group goes on, and what this says of the publisher. */
  #rest(lane: Lane, group: Group, sorted: Sorted): number {
    const isNobodyThere = sorted.again.length > 0 && !sorted.isReachable && !sorted.isThrottled
    if (isNobodyThere) {
      group.tries++
      return this.#breaker.failed(lane, group, sorted.askedMs)
    }
    if (sorted.again.length === 0) group.tries = 0
    else {
      group.tries = sorted.accepted.length > 0 ? 1 : group.tries + 1
      group.isPaused = true
      this.#parts.alarms.in(sorted.delayMs, () => {
        group.isPaused = false
        this.pump(lane)
      })
    }
    if (sorted.accepted.length > 0) this.#breaker.succeeded()
    else this.#breaker.undecided(group)
    return sorted.delayMs
  }

  #accept(lane: Lane, messages: readonly Message[]): void {
    if (messages.length === 0) return
    lane.accepted += messages.length
    if (lane.blocked.size > 0) this.#unblock(lane, messages)
    this.#parts.accepted(lane, messages)
  }

  /** Heads that were accepted: the rest of their key follows, in order. */
  #unblock(lane: Lane, accepted: readonly Message[]): void {
    for (const message of accepted) {
      const block = blockOf(message)
      const blocked = lane.blocked.get(block)
      if (blocked === undefined || blocked.head.seq !== message.seq) continue
      lane.blocked.delete(block)
      lane.blockedMessages -= 1 + blocked.waiting.length
      blocked.group.putBack(blocked.waiting)
      if (blocked.group.length > 0 && blocked.group.inFlight === null) lane.waiting.add(blocked.group)
    }
  }

  #block(lane: Lane, group: Group, refusals: readonly Refusal[], behind: readonly Message[]): void {
    const fresh = new Set<string>()
    for (const refusal of refusals) {
      const block = blockOf(refusal.message)
      const head = withAttempt(refusal.message, refusal.attempt)
      const known = lane.blocked.get(block)
      const blocked: Blocked = known ?? { head, waiting: [], group, isFailed: false, alarm: null }
      blocked.head = head
      if (known === undefined) {
        lane.blocked.set(block, blocked)
        lane.blockedMessages++
        fresh.add(block)
      }
      const delayMs = refusal.kind === 'retry' ? refusal.delayMs : this.#settings.policy.maxDelayMs
      if (refusal.kind === 'failed' && !blocked.isFailed) this.#reportFailed(refusal)
      else this.#reportRefused(refusal.message, refusal.refusal, refusal.attempt, delayMs)
      blocked.isFailed = refusal.kind === 'failed'
      blocked.alarm = this.#parts.alarms.in(delayMs, () => this.#offerHead(lane, blocked))
    }
    const wait = (message: Message): void => {
      lane.blocked.get(blockOf(message))?.waiting.push(message)
      lane.blockedMessages++
    }
    behind.forEach(wait)
    if (fresh.size > 0) group.takeBlocks(fresh).forEach(wait)
  }

  #offerHead(lane: Lane, blocked: Blocked): void {
    blocked.alarm = null
    if (lane.isGone) return
    blocked.group.putBack([blocked.head])
    if (blocked.group.inFlight === null) lane.waiting.add(blocked.group)
    this.pump(lane)
  }

  #resume(lanes: readonly Lane[]): void {
    for (const lane of lanes) this.pump(lane)
  }

  #reportRefused(message: Message, refusal: Refusal['refusal'], attempt: number, retryInMs: number): void {
    const { id, seq, lane, topic } = message
    const { class: kind, code, detail } = refusal
    this.#parts.report({ name: 'message.refused', id, seq, lane, topic, class: kind, code, detail, attempt, retryInMs })
  }

  #reportFailed({ message, refusal, attempt }: Refusal): void {
    const { id, seq, lane, topic } = message
    this.#parts.report({
      name: 'message.failed',
      id,
      seq,
      lane,
      topic,
      class: refusal.class,
      code: refusal.code,
      detail: refusal.detail,
      attempt,
    })
  }
}
