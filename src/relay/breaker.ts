// Keeps a publisher that is down from being hammered: groups that failed are suspects, and one of them at a time probes.
import { backoffMs } from '../core/index.ts'
import type { RetryPolicy } from '../core/index.ts'
import type { Alarm, Alarms } from './alarms.ts'
import type { Group } from './group.ts'
import type { Lane } from './lanes.ts'

/** A probe is one batch, so it may come often; what has healed must go on soon. */
const longestPauseMs = 2000

/**
 * A group becomes a suspect when its batch met nobody who answered. A group that isn't one goes on: an outage of one topic or
 * partition holds up nobody else. The first success clears all.
 */
export class Breaker {
  readonly #policy: RetryPolicy
  readonly #alarms: Alarms
  readonly #random: () => number
  readonly #resume: (lanes: readonly Lane[]) => void
  /** With their lanes, the one that failed longest ago first. */
  readonly #suspects = new Map<Group, Lane>()
  #probing: Group | null = null
  #rest: Alarm | null = null
  #tries = 0

  /** @param resume groups of these lanes may be launched again, those of the first one first */
  constructor(policy: RetryPolicy, alarms: Alarms, random: () => number, resume: (lanes: readonly Lane[]) => void) {
    this.#policy = { ...policy, maxDelayMs: Math.min(policy.maxDelayMs, longestPauseMs) }
    this.#alarms = alarms
    this.#random = random
    this.#resume = resume
  }

  allows(group: Group): boolean {
    return !this.#suspects.has(group) || (this.#probing === null && this.#rest === null)
  }

  launched(group: Group): void {
    if (this.#suspects.has(group)) this.#probing = group
  }

  succeeded(): void {
    if (this.#suspects.size === 0) return
    const lanes = this.#lanes()
    this.#suspects.clear()
    this.#probing = null
    this.#alarms.cancel(this.#rest)
    this.#rest = null
    this.#tries = 0
    this.#resume(lanes)
  }

  /** @returns the pause before the next probe */
  failed(lane: Lane, group: Group, askedMs: number): number {
    const isFirst = this.#suspects.size === 0
    const isProbe = this.#probing === group
    // To the end: another one probes next.
    this.#suspects.delete(group)
    this.#suspects.set(group, lane)
    if (isProbe) this.#probing = null
    if (!isFirst && !isProbe) return this.#leftMs()
    if (isFirst) this.#tries = 0
    return this.#pause(askedMs)
  }

  /** The batch says nothing of whether the publisher is up. */
  undecided(group: Group): void {
    if (this.#probing !== group) return
    this.#probing = null
    this.#pause(0)
  }

  forget(group: Group): void {
    this.#suspects.delete(group)
    if (this.#probing !== group) return
    this.#probing = null
    this.#pause(0)
  }

  #pause(askedMs: number): number {
    const ms = Math.max(askedMs, backoffMs(this.#tries++, this.#policy, this.#random()))
    this.#alarms.cancel(this.#rest)
    this.#rest = this.#alarms.in(ms, () => {
      this.#rest = null
      this.#resume(this.#lanes())
    })
    return ms
  }

  #lanes(): Lane[] {
    return [...new Set(this.#suspects.values())]
  }

  #leftMs(): number {
    return this.#rest === null ? 0 : this.#alarms.leftMs(this.#rest)
  }
}
