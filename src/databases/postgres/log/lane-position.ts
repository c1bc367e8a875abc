// What is known of one lane that is held: how far it was read, what of it is not settled, what its rows in the database say.
// Keeps the invariant: a number of this lane (or an open one) at or below `upto` is settled, dead, or has a gap row.
import { intersect, subtract, type OpenRange, type Range } from './open-numbers.ts'

/** An open number younger than this holds `upto` back instead of becoming a gap row: most are resolved by then. */
const youngGapMs = 100
/** A message that is unsettled for longer becomes a gap row, so that `upto` goes on without it. */
const stragglerMs = 1_000
/** A lane's messages are settled by groups that lie mixed: the next one of a group is rarely further away. */
const nearby = 12

/** What one settlement writes for one lane. */
export interface LanePlan {
  readonly upto: bigint
  /** All gap rows that the lane has afterwards. */
  readonly gaps: readonly Range[]
  readonly gone: readonly bigint[]
  readonly born: readonly Range[]
  readonly shrunk: readonly Range[]
}

export class LanePosition {
  readonly lane: number
  readonly token: bigint
  /** Where the position row is: the settlement finds it without an index. */
  ctid: string
  /** Every row of the lane up to here was read. */
  cursor: bigint
  /** As in the database. */
  upto: bigint
  /** `upto` when the lane was taken: below it only gap rows name unsettled numbers. */
  readonly startedAt: bigint
  /** When this lane's row was last written, by the monotonic clock. */
  writtenMs = 0
  /** When messages of this lane were last handed out, by the monotonic clock. */
  handedOutMs = -Infinity
  #gaps: readonly Range[]
  /** Numbers read above `upto`, in order, settled or not. */
  readonly #above: Read[] = []
  /** How many of these are not settled. */
  #unsettledAbove = 0
  /** Where the next number to be settled is likely to be: they come in order, or nearly so. */
  #hint = 0
  /** Numbers at or below `upto` that are not settled: when they were read. In any order. */
  readonly #below = new Map<bigint, number>()
  /** Numbers of gap rows from before the lane was taken that were handed out: their row goes only with the next settlement. */
  readonly #taken = new Set<bigint>()
  #highestSettled = 0n

  constructor(row: { lane: number; token: bigint; upto: bigint; ctid: string; gaps: readonly Range[] }) {
    this.lane = row.lane
    this.token = row.token
    this.ctid = row.ctid
    this.cursor = row.upto
    this.upto = row.upto
    this.startedAt = row.upto
    this.#gaps = row.gaps
  }

  /** The lane's gap rows as in the database. */
  get gaps(): readonly Range[] {
    return this.#gaps
  }

  /** How many numbers were read above `upto`, settled or not. */
  get readAbove(): number {
    return this.#above.length
  }

  get unsettled(): number {
    return this.#unsettledAbove + this.#below.size
  }

  /** A row of this lane was read by a window. Called in order of `seq`. */
  take(seq: bigint, nowMs: number): void {
    this.#above.push({ seq, atMs: nowMs, isSettled: false })
    this.#unsettledAbove++
  }

  /** An open number turned out to be a row of this lane. Is it this lane's to deliver, now? */
  takeLate(seq: bigint, range: OpenRange, nowMs: number): boolean {
    if (seq > this.cursor || this.#below.has(seq) || this.#find(seq) !== null) return false
    if (seq <= this.startedAt) {
      if (this.#taken.has(seq) || !this.#gaps.some((g) => g.lo <= seq && seq <= g.hi)) return false
      this.#taken.add(seq)
    } else if (seq <= (range.passedBy?.get(this) ?? 0n)) return false
    if (seq > this.upto) {
      this.#above.splice(firstAbove(this.#above, seq), 0, { seq, atMs: nowMs, isSettled: false })
      this.#unsettledAbove++
    } else this.#below.set(seq, nowMs)
    return true
  }

  settled(seq: bigint): void {
    if (this.#below.size === 0 || !this.#below.delete(seq)) {
      const read = this.#find(seq)
      if (read !== null && !read.isSettled) {
        read.isSettled = true
        this.#unsettledAbove--
      }
    }
    if (seq > this.#highestSettled) this.#highestSettled = seq
  }

  /**
   * What the database has to say of this lane now; null when it says that already.
   *
   * @param open all open numbers, in order
   */
  plan(open: readonly OpenRange[], nowMs: number): LanePlan | null {
    const blockers = this.#blockers(open, nowMs)
    let upto = this.cursor
    for (const b of blockers) {
      if (b.holds && b.lo > this.upto) {
        upto = b.lo - 1n
        break
      }
    }
    if (upto < this.upto) upto = this.upto
    const passed = intersect(blockers, upto > this.upto ? [{ lo: this.upto + 1n, hi: upto }] : [])
    const gaps = this.#gaps.length === 0 ? passed : [...intersect(this.#gaps, blockers), ...passed]
    const delta = difference(this.#gaps, gaps)
    const unchanged = delta.gone.length + delta.born.length + delta.shrunk.length === 0
    return upto === this.upto && unchanged ? null : { upto, gaps, ...delta }
  }

  /** The plan is in the database. */
  apply(plan: LanePlan, ctid: string, nowMs: number): void {
    this.upto = plan.upto
    this.#gaps = plan.gaps
    this.ctid = ctid
    this.writtenMs = nowMs
    const done = firstAbove(this.#above, plan.upto)
    if (done === 0) return
    for (const { seq, atMs, isSettled } of this.#above.splice(0, done)) {
      if (isSettled) continue
      this.#below.set(seq, atMs)
      this.#unsettledAbove--
    }
    this.#hint = 0
  }

  /** Whatever is not settled or may still appear, in order, up to the first that `upto` must not pass. */
  #blockers(open: readonly OpenRange[], nowMs: number): Blocker[] {
    const apart: Blocker[] = []
    for (const r of open) {
      if (r.lo > this.cursor) break
      // Up to its start the gap rows decide alone.
      const passed = r.lo > this.startedAt ? r.passedBy?.get(this) : undefined
      const lo = passed !== undefined && passed >= r.lo ? passed + 1n : r.lo
      if (lo > r.hi || lo > this.cursor) continue
      const holds = nowMs - r.sinceMs < youngGapMs
      for (const range of this.#untaken({ lo, hi: r.hi < this.cursor ? r.hi : this.cursor })) apart.push({ ...range, holds })
    }
    if (this.#below.size > 0) {
      for (const [seq, atMs] of this.#below) apart.push({ lo: seq, hi: seq, holds: this.#holds(seq, atMs, nowMs) })
      apart.sort((a, b) => (a.lo < b.lo ? -1 : 1))
    }
    const blockers: Blocker[] = []
    let next = 0
    for (const { seq, atMs, isSettled } of this.#above) {
      if (isSettled) continue
      for (let other = apart[next]; other !== undefined && other.lo < seq; other = apart[++next]) {
        blockers.push(other)
        if (other.holds && other.lo > this.upto) return blockers
      }
      const holds = this.#holds(seq, atMs, nowMs)
      blockers.push({ lo: seq, hi: seq, holds })
      if (holds) return blockers
    }
    return [...blockers, ...apart.slice(next)]
  }

  #find(seq: bigint): Read | null {
    const end = Math.min(this.#hint + nearby, this.#above.length)
    let at = this.#hint
    while (at < end && this.#above[at]!.seq !== seq) at++
    if (at === end) at = firstAbove(this.#above, seq) - 1
    const read = this.#above[at]
    if (read?.seq !== seq) return null
    this.#hint = at + 1
    return read
  }

  /** Without what this lane has already: the gap row of another lane may have opened its number once more. */
  #untaken(range: Range): Range[] {
    if (this.#taken.size === 0 || range.lo > this.startedAt) return [range]
    if (range.lo === range.hi) return this.#taken.has(range.lo) ? [] : [range]
    const taken = [...this.#taken].filter((seq) => range.lo <= seq && seq <= range.hi).toSorted((a, b) => (a < b ? -1 : 1))
    return subtract(
      range,
      taken.map((seq) => ({ lo: seq, hi: seq })),
    )
  }

  /** Nothing is gained by passing a message above which nothing was settled. */
  #holds(seq: bigint, atMs: number, nowMs: number): boolean {
    return seq > this.#highestSettled || nowMs - atMs < stragglerMs
  }
}

/** Index of the first number above `seq`; they are in order. */
function firstAbove(reads: readonly Read[], seq: bigint): number {
  let low = 0
  let high = reads.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (reads[middle]!.seq <= seq) low = middle + 1
    else high = middle
  }
  return low
}

interface Read {
  readonly seq: bigint
  /** When, by the monotonic clock. */
  readonly atMs: number
  isSettled: boolean
}

interface Blocker extends Range {
  readonly holds: boolean
}

/** From one list of ranges to another, so that no `lo` is named twice: rows deleted, inserted, given another end. */
function difference(from: readonly Range[], to: readonly Range[]): Pick<LanePlan, 'gone' | 'born' | 'shrunk'> {
  if (from.length === 0) return { gone: [], born: to, shrunk: [] }
  const wanted = new Map(to.map((r) => [r.lo, r.hi]))
  const there = new Map(from.map((r) => [r.lo, r.hi]))
  return {
    gone: from.filter((r) => !wanted.has(r.lo)).map((r) => r.lo),
    born: to.filter((r) => !there.has(r.lo)),
    shrunk: to.filter((r) => there.has(r.lo) && there.get(r.lo) !== r.hi),
  }
}
