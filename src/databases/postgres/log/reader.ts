// One cycle: the window, then the guards, then all open numbers again, and only then are rows handed on, late ones first.
// That order is the promise: a row is never overtaken by a later one of its key whose writer waited for it.
import { OutriderError, type Message, type SourceContext } from '../../../core/index.ts'
import type { Connection } from '../connection.ts'
import { guard, lookAgain, readHolders, readWindow, whichAppeared } from '../queries.ts'
import type { Setup } from '../setup.ts'
import { quoteText, type Names } from '../names.ts'
import { Holders, type Holder } from './holders.ts'
import type { LanePosition } from './lane-position.ts'
import type { Safeties } from './safeties.ts'
import { OpenNumbers, type OpenRange, type Range } from './open-numbers.ts'
import { contentTypeOf, messageOf, rawQuery, type Row } from './window.ts'

/** A gap younger than this isn't tested for death: most appear by themselves. */
const youngMs = 50
/** The locks are looked at once in this time at most. */
const holdersEveryMs = 20
/** Further behind than so many full windows, a lane is read apart from the others. */
const farWindows = 10
/** A window brings so much of a full batch for each lane: what is read early waits in memory, and is costly to clear away. */
const windowShare = 0.5
/** Most rows of a window when payloads are large: grows again as they become small. */
const fewestRows = 16

export interface Cycle {
  /** Late ones and those of the window together, in order of `seq`. */
  readonly messages: Message[]
  readonly late: number
}

export class Reader {
  readonly open = new OpenNumbers()
  readonly #connection: Connection
  readonly #setup: Setup
  readonly #context: SourceContext
  readonly #safeties: Safeties
  readonly #outbox: string
  readonly #holders = new Holders()
  readonly #sql: Record<'window' | 'someOf' | 'again' | 'appeared' | 'guard' | 'holders', string>
  /** Between these the missing numbers are known: open, or dead. Empty at first. */
  #detected: { from: bigint; to: bigint } | null = null
  #lastValue = 0n
  #holdersAtMs = -Infinity
  #rowLimit = Number.MAX_SAFE_INTEGER
  #headsTurn = false

  constructor(connection: Connection, setup: Setup, names: Names, context: SourceContext, safeties: Safeties) {
    this.#connection = connection
    this.#setup = setup
    this.#context = context
    this.#safeties = safeties
    this.#outbox = names.outbox
    this.#sql = {
      window: readWindow(names, setup.lanes, false),
      someOf: readWindow(names, setup.lanes, true),
      again: lookAgain(names, setup.lanes),
      appeared: whichAppeared(names),
      guard: guard(setup.sequence, setup.sequenceOid),
      holders: readHolders(safeties.lockOfSequence ? setup.sequenceOid : setup.tableOid),
    }
  }

  /** Numbers that gap rows name: they are looked up like any open number. */
  watch(gaps: readonly Range[], held: ReadonlyMap<number, LanePosition>): void {
    for (const gap of gaps) this.open.add(gap.lo, gap.hi, this.#context.clock.monotonicMs(), passedBy(gap, held))
  }

  /** What it returns belongs to the lanes as they are held then: after its last statement it waits for nothing any more. */
  async cycle(held: ReadonlyMap<number, LanePosition>, wanted: readonly LanePosition[], maxBytes: number): Promise<Cycle> {
    await this.#testForDeath()
    const { from, lanes } = this.#nextWindow(wanted)
    const rows = lanes.length === 0 ? [] : await this.#window(from, lanes, maxBytes)
    const last = rows.length === 0 ? null : BigInt(rows.at(-1)![1])
    await this.#guard(last)
    const fresh = last === null ? [] : this.#missing(rows, from)
    const again = await this.#lookAgain(fresh, maxBytes)
    // Cut short: a row of the window may have to wait for one that was not looked at. The window is dropped and read again.
    const dropped = again.cut || last === null
    const taken = dropped ? [] : this.#takeWindow(rows, last, from, fresh, lanes, held)
    const late = this.#takeLate(again.rows, held)
    return { messages: this.#inOrder(late, taken), late: late.length }
  }

  #inOrder(late: Message[], window: Message[]): Message[] {
    if (late.length === 0) return window
    return this.#safeties.lateFirst ? [...late, ...window].toSorted(bySeq) : [...window, ...late]
  }

  /**
   * Where the next window reads: from the lane that is furthest behind, so that all soon read together again. One that is far
   * behind takes turns with the furthest ones, which it would keep waiting otherwise.
   */
  #nextWindow(wanted: readonly LanePosition[]): { from: bigint; lanes: readonly LanePosition[] } {
    let tail = wanted[0]?.cursor ?? 0n
    let head = tail
    for (const { cursor } of wanted) {
      if (cursor < tail) tail = cursor
      if (cursor > head) head = cursor
    }
    const isFar = head - tail > BigInt(this.#context.batchSize * this.#setup.lanes * farWindows)
    this.#headsTurn = isFar && !this.#headsTurn
    const from = this.#headsTurn ? head : tail
    return { from, lanes: wanted.filter((position) => position.cursor >= from) }
  }

  async #window(from: bigint, lanes: readonly LanePosition[], maxBytes: number): Promise<Row[]> {
    const all = lanes.length === this.#setup.lanes
    const share = Math.ceil(this.#context.batchSize * windowShare)
    const limit = Math.min(Math.max(share * this.#setup.lanes, fewestRows), this.#rowLimit)
    const values: unknown[] = [from.toString(), limit, maxBytes]
    if (!all) values.push(lanes.map((position) => position.lane))
    const rows = await this.#connection.read<Row>(
      rawQuery(all ? 'window' : 'some of window', all ? this.#sql.window : this.#sql.someOf, values),
    )
    // The server unpacks what it measures, also the rows that it cuts off then: so it is asked for fewer.
    if (rows.length < limit && textBytes(rows) > maxBytes / 2) this.#rowLimit = Math.max(rows.length * 2, fewestRows)
    else if (rows.length >= this.#rowLimit) this.#rowLimit *= 2
    return rows
  }

  /** Stops at whatever makes a missing number say nothing. */
  async #guard(last: bigint | null): Promise<void> {
    const [row] = await this.#connection.read<[string, string, string, string]>(rawQuery('guard', this.#sql.guard, []))
    const [value, filenode, backend, standby] = row!
    const lastValue = BigInt(value)
    const { sequence } = this.#setup
    if (standby === 't')
      throw new OutriderError('SOURCE_IS_STANDBY', 'The server became a standby. Nothing of this look was handed out.', {
        retryable: true,
        hint: 'The relay connects again; its address must lead to the primary.',
      })
    if (backend !== String(this.#setup.backend)) {
      throw new OutriderError(
        'SOURCE_IS_POOLED',
        `The session moved from backend ${this.#setup.backend} to ${backend}: a pooler in transaction mode stands in between. Nothing of this look was handed out.`,
        {
          hint: 'Give the relay a direct URL to PostgreSQL, or a pool in session mode.',
        },
      )
    }
    if (filenode !== this.#setup.filenode || lastValue < this.#lastValue) {
      throw new OutriderError(
        'SEQUENCE_RESET',
        `The sequence ${sequence} was changed under the relay: ${filenode === this.#setup.filenode ? `it went back from ${this.#lastValue} to ${lastValue}` : 'it was restarted (TRUNCATE ... RESTART IDENTITY), or its CACHE was changed'}. A missing number says nothing any more. Nothing of this look was handed out.`,
        {
          hint: 'Find out what was changed and whether undelivered events were removed; then start the relay: it names the SQL that accepts the sequence as it is.',
        },
      )
    }
    if (last !== null && last > lastValue) {
      throw new OutriderError(
        'SEQUENCE_BYPASSED',
        `There is a row with seq ${last}, but the sequence ${sequence} stands at ${lastValue}: a writer chose its own number (COPY, OVERRIDING SYSTEM VALUE). Later events would take numbers that were passed already. Nothing of this look was handed out.`,
        {
          hint: `Set the sequence above such rows: SELECT setval(${quoteText(sequence)}, (SELECT max(seq) FROM ${this.#outbox})); and let no writer choose its number.`,
        },
      )
    }
    this.#lastValue = lastValue
  }

  /** Numbers that this window shows to be missing and that are not known yet. */
  #missing(rows: readonly Row[], from: bigint): Range[] {
    if (BigInt(rows.at(-1)![1]) - from === BigInt(rows.length)) return []
    const known = this.#detected
    const fresh: Range[] = []
    let previous = from
    for (const row of rows) {
      const seq = BigInt(row[1])
      if (seq - previous > 1n) {
        let lo = previous + 1n
        const hi = seq - 1n
        if (known !== null && known.from < hi && lo <= known.to) {
          if (lo <= known.from) fresh.push({ lo, hi: known.from })
          lo = known.to + 1n
        }
        if (lo <= hi) fresh.push({ lo, hi })
      }
      previous = seq
    }
    return fresh
  }

  /** All open numbers, those of this window too, in a later snapshot than the window's. */
  async #lookAgain(fresh: readonly Range[], maxBytes: number): Promise<{ rows: readonly Row[]; cut: boolean }> {
    const asked = fresh.length === 0 ? this.open.ranges : [...this.open.ranges, ...fresh].toSorted((a, b) => (a.lo < b.lo ? -1 : 1))
    if (asked.length === 0) return { rows: [], cut: false }
    const limit = this.#context.batchSize * this.#setup.lanes
    const values = [asked.map((r) => r.lo.toString()), asked.map((r) => r.hi.toString()), limit, maxBytes]
    const rows = await this.#connection.read<[...Row, found: string]>(rawQuery('again', this.#sql.again, values))
    const found = rows.length === 0 ? 0 : Number(rows[0]!.at(-1))
    return { rows: rows as unknown as Row[], cut: found >= limit || found > rows.length }
  }

  #takeLate(rows: readonly Row[], held: ReadonlyMap<number, LanePosition>): Message[] {
    const contentType = contentTypeOf(this.#setup.payloadType)
    const now = this.#context.clock.monotonicMs()
    const messages: Message[] = []
    for (const row of rows) {
      const seq = BigInt(row[1])
      const lane = Number(row[0])
      const open = this.open.find(seq)
      // Of a window that was dropped: it comes again.
      if (open === undefined) continue
      this.open.remove(seq, seq)
      if (held.get(lane)?.takeLate(seq, open, now) !== true) continue
      this.#context.report({ name: 'gap.found', seq, ageMs: now - open.sinceMs })
      messages.push(messageOf(row, lane, seq, contentType))
    }
    return messages
  }

  #takeWindow(
    rows: readonly Row[],
    last: bigint,
    from: bigint,
    fresh: readonly Range[],
    lanes: readonly LanePosition[],
    held: ReadonlyMap<number, LanePosition>,
  ): Message[] {
    const contentType = contentTypeOf(this.#setup.payloadType)
    const now = this.#context.clock.monotonicMs()
    // A lane may have been lost, and taken anew, while its rows were read: they come again for whoever holds it.
    const still = lanes.filter((position) => held.get(position.lane) === position)
    const positions = new Map(still.map((position) => [position.lane, position]))
    const messages: Message[] = []
    for (const row of rows) {
      const lane = Number(row[0])
      const position = positions.get(lane)
      if (position === undefined) continue
      const seq = BigInt(row[1])
      if (seq <= position.cursor) continue
      position.take(seq, now)
      messages.push(messageOf(row, lane, seq, contentType))
    }
    for (const gap of fresh) {
      this.open.add(gap.lo, gap.hi, now, passedBy(gap, held))
      this.#context.report({ name: 'gap.opened', lo: gap.lo, hi: gap.hi })
    }
    for (const position of positions.values()) if (last > position.cursor) position.cursor = last
    this.#extendDetected(from, last)
    return messages
  }

  #extendDetected(from: bigint, last: bigint): void {
    const known = this.#detected
    if (known === null) this.#detected = { from, to: last }
    else if (from <= known.to && last >= known.from) {
      this.#detected = { from: from < known.from ? from : known.from, to: last > known.to ? last : known.to }
    } else if (from > known.to) this.#detected = { from, to: last }
  }

  /** Strikes out the numbers that no transaction can bring any more. */
  async #testForDeath(): Promise<void> {
    const now = this.#context.clock.monotonicMs()
    const old = this.open.ranges.filter((r) => now - r.sinceMs >= youngMs)
    if (old.length === 0 || now - this.#holdersAtMs < holdersEveryMs) return
    this.#holdersAtMs = now
    this.#holders.observe(await this.#connection.read<Holder>({ name: 'holders', text: this.#sql.holders }))
    await this.#guard(null)
    this.#holders.sequenceWas(this.#lastValue)
    const ended = old.filter((range) => this.#holders.hasEnded(range) || !this.#safeties.waitForHolders)
    if (ended.length > 0) await this.#strikeOut(ended, now)
  }

  /** Nobody is left who could own these: one more look, in a later snapshot, and what is absent is dead. */
  async #strikeOut(ended: readonly OpenRange[], now: number): Promise<void> {
    const limit = Math.max(this.#context.batchSize, 1)
    const values = [ended.map((r) => r.lo.toString()), ended.map((r) => r.hi.toString()), limit]
    const appeared = (await this.#connection.read<[string]>(rawQuery('appeared', this.#sql.appeared, values))).map(([seq]) => BigInt(seq))
    // What was not looked at because there were too many is judged in a later cycle.
    const judgedTo = appeared.length >= limit ? appeared.at(-1)! : null
    let next = 0
    for (const range of ended) {
      let lo = range.lo
      const hi = judgedTo !== null && judgedTo < range.hi ? judgedTo : range.hi
      while (next < appeared.length && appeared[next]! < range.lo) next++
      for (; next < appeared.length && appeared[next]! <= hi; next++) {
        this.#dead(lo, appeared[next]! - 1n, now - range.sinceMs)
        lo = appeared[next]! + 1n
      }
      this.#dead(lo, hi, now - range.sinceMs)
    }
  }

  #dead(lo: bigint, hi: bigint, ageMs: number): void {
    if (lo > hi) return
    this.open.remove(lo, hi)
    this.#context.report({ name: 'gap.dead', lo, hi, ageMs })
  }
}

/** Lanes that read past these numbers before they were open: to them a number that is missing was settled or dead. */
function passedBy(gap: Range, held: ReadonlyMap<number, LanePosition>): ReadonlyMap<object, bigint> | null {
  let passed: Map<object, bigint> | null = null
  for (const position of held.values()) {
    if (position.cursor >= gap.lo && position.startedAt < gap.hi) (passed ??= new Map()).set(position, position.cursor)
  }
  return passed
}

function bySeq(a: Message, b: Message): number {
  return a.seq < b.seq ? -1 : 1
}

function textBytes(rows: readonly Row[]): number {
  return rows.reduce((sum, row) => sum + (row[6]?.length ?? 0), 0)
}
