// Which transactions may still own an open number: the wait that decides death.
// A number is dead when every transaction that held the sequence's lock at some time after it was seen missing has ended,
// and a later look still doesn't find it. A holder that was idle since before the number was taken can't own it.
import type { OpenRange } from './open-numbers.ts'

/** A row of readHolders. */
export interface Holder {
  readonly virtualtransaction: string
  /** Since when it is idle in its transaction, `prepared`, or null: busy, or not ours to see. */
  readonly idle: string | null
}

interface Idle {
  readonly since: string
  /** The sequence's last number at a moment after it was seen idle; null until that was read. */
  lastValue: bigint | null
}

export class Holders {
  #now = new Set<string>()
  #idle = new Map<string, Idle>()

  /** A new look at the locks. */
  observe(rows: readonly Holder[]): void {
    const idle = new Map<string, Idle>()
    this.#now = new Set()
    for (const { virtualtransaction, idle: since } of rows) {
      // Local id 0: a session that takes its locks outside any transaction's life; it can't own a number.
      if (virtualtransaction.endsWith('/0')) continue
      this.#now.add(virtualtransaction)
      if (since === null) continue
      const before = this.#idle.get(virtualtransaction)
      idle.set(virtualtransaction, before?.since === since ? before : { since, lastValue: null })
    }
    this.#idle = idle
  }

  /** The sequence's last number, read in a statement after the one that `observe` got its rows from. */
  sequenceWas(lastValue: bigint): void {
    for (const idle of this.#idle.values()) idle.lastValue ??= lastValue
  }

  /** Takes what has ended from the range's wait (or begins it). True: nobody is left that could own a number of it. */
  hasEnded(range: OpenRange): boolean {
    if (range.waitFor === null) {
      range.waitFor = new Set(this.#now)
      for (const [holder, idle] of this.#idle) {
        // It was idle when the sequence stood below the range, and is idle still: the numbers were taken by others.
        if (idle.lastValue !== null && idle.lastValue < range.lo) range.waitFor.delete(holder)
      }
    } else {
      for (const holder of range.waitFor) if (!this.#now.has(holder)) range.waitFor.delete(holder)
    }
    return range.waitFor.size === 0
  }
}
