// Numbers that were taken but are not visible yet: between two rows read, below the last one.
// Sorted, disjoint ranges. A range is never forgotten but by `remove`: its number was found, or is known to be dead.

/** Numbers lo to hi, both included. */
export interface Range {
  readonly lo: bigint
  readonly hi: bigint
}

export interface OpenRange extends Range {
  /** When it was first seen missing, by the monotonic clock. */
  readonly sinceMs: number
  /** Transactions that may still own a number of it; null until they were looked at for the first time. */
  waitFor: Set<string> | null
  /** Lanes that had read beyond these numbers when they were opened, and how far: none of theirs is among them up to there. */
  readonly passedBy: ReadonlyMap<object, bigint> | null
}

export class OpenNumbers {
  #ranges: OpenRange[] = []

  /** In order; not to be changed by the caller. */
  get ranges(): readonly OpenRange[] {
    return this.#ranges
  }

  /** How many numbers are open. */
  get count(): bigint {
    return this.#ranges.reduce((sum, r) => sum + (r.hi - r.lo + 1n), 0n)
  }

  /** Adds what of [lo, hi] is not open already. */
  add(lo: bigint, hi: bigint, nowMs: number, passedBy: ReadonlyMap<object, bigint> | null = null): void {
    const last = this.#ranges.at(-1)
    if (last === undefined || last.hi < lo) {
      this.#ranges.push({ lo, hi, sinceMs: nowMs, waitFor: null, passedBy })
      return
    }
    for (const free of subtract({ lo, hi }, this.#ranges)) {
      this.#ranges.splice(this.#firstAtOrAbove(free.lo), 0, { ...free, sinceMs: nowMs, waitFor: null, passedBy })
    }
  }

  /** The open range that has this number. */
  find(seq: bigint): OpenRange | undefined {
    const range = this.#ranges[this.#firstAtOrAbove(seq)]
    return range !== undefined && range.lo <= seq ? range : undefined
  }

  /** Takes [lo, hi] out; what is left of a range keeps its age and its wait. */
  remove(lo: bigint, hi: bigint): void {
    let index = this.#firstAtOrAbove(lo)
    for (let range = this.#ranges[index]; range !== undefined && range.lo <= hi; range = this.#ranges[index]) {
      const rest: OpenRange[] = []
      if (range.lo < lo) rest.push({ ...range, hi: lo - 1n, waitFor: range.waitFor && new Set(range.waitFor) })
      if (range.hi > hi) rest.push({ ...range, lo: hi + 1n })
      this.#ranges.splice(index, 1, ...rest)
      index += rest.length
    }
  }

  /** Index of the first range whose end is at or above `seq`. */
  #firstAtOrAbove(seq: bigint): number {
    let low = 0
    let high = this.#ranges.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#ranges[middle]!.hi < seq) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** What of `range` is in none of `taken` (sorted, disjoint). */
export function subtract(range: Range, taken: readonly Range[]): Range[] {
  const free: Range[] = []
  let lo = range.lo
  for (const t of taken) {
    if (t.hi < lo) continue
    if (t.lo > range.hi) break
    if (t.lo > lo) free.push({ lo, hi: t.lo - 1n })
    lo = t.hi + 1n
  }
  if (lo <= range.hi) free.push({ lo, hi: range.hi })
  return free
}

/** Numbers that are in both lists (each sorted and disjoint). */
export function intersect(a: readonly Range[], b: readonly Range[]): Range[] {
  const both: Range[] = []
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    const x = a[i]!
    const y = b[j]!
    const lo = x.lo > y.lo ? x.lo : y.lo
    const hi = x.hi < y.hi ? x.hi : y.hi
    if (lo <= hi) both.push({ lo, hi })
    if (x.hi < y.hi) i++
    else j++
  }
  return both
}
