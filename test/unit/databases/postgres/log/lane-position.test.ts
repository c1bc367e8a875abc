// A lane against a model that knows everything: which numbers are whose, which are visible, dead, settled.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { LanePosition, type LanePlan } from '../../../../../src/databases/postgres/log/lane-position.ts'
import { OpenNumbers, type Range } from '../../../../../src/databases/postgres/log/open-numbers.ts'

type State = 'invisible' | 'visible' | 'dead'
interface Number_ {
  readonly mine: boolean
  state: State
  /** Times handed out since the lane was taken, or before its crash. */
  handedOut: number
  settled: boolean
}

const covers = (ranges: readonly Range[], n: bigint): boolean => ranges.some((r) => r.lo <= n && n <= r.hi)

class World {
  readonly numbers: Number_[]
  open = new OpenNumbers()
  position: LanePosition
  /** The rows in the database. */
  stored: { upto: bigint; gaps: Map<bigint, bigint> } = { upto: 0n, gaps: new Map() }
  /** Handed out by the position that there is now, and not settled by it. */
  inHand = new Set<bigint>()
  nowMs = 10_000
  crashes = 0

  constructor(numbers: readonly { mine: boolean; visible: boolean }[]) {
    this.numbers = numbers.map(({ mine, visible }) => ({ mine, state: visible ? 'visible' : 'invisible', handedOut: 0, settled: false }))
    this.position = this.#take()
  }

  get gaps(): Range[] {
    return [...this.stored.gaps].map(([lo, hi]) => ({ lo, hi })).toSorted((a, b) => (a.lo < b.lo ? -1 : 1))
  }

  at(n: bigint): Number_ {
    return this.numbers[Number(n) - 1]!
  }

  get openNumbers(): bigint[] {
    return this.open.ranges.flatMap(({ lo, hi }) => Array.from({ length: Number(hi - lo) + 1 }, (_, i) => lo + BigInt(i)))
  }

  #take(): LanePosition {
    const position = new LanePosition({ lane: 0, token: 1n, upto: this.stored.upto, ctid: '(0,1)', gaps: this.gaps })
    this.open = new OpenNumbers()
    for (const gap of this.gaps) this.open.add(gap.lo, gap.hi, this.nowMs)
    return position
  }

  /** A window of up to `most` rows, then all open numbers again. */
  cycle(most: number): void {
    const rows: bigint[] = []
    for (let n = this.position.cursor + 1n; n <= BigInt(this.numbers.length) && rows.length < most; n++) {
      if (this.at(n).state === 'visible') rows.push(n)
    }
    const last = rows.at(-1) ?? this.position.cursor
    for (const n of rows) if (this.at(n).mine) this.#handOut(n, () => (this.position.take(n, this.nowMs), true))
    for (let n = this.position.cursor + 1n; n < last; n++) if (this.at(n).state === 'invisible') this.open.add(n, n, this.nowMs)
    this.position.cursor = last
    for (const n of this.openNumbers) {
      if (this.at(n).state !== 'visible') continue
      const found = this.open.find(n)!
      this.open.remove(n, n)
      if (this.at(n).mine) this.#handOut(n, () => this.position.takeLate(n, found, this.nowMs))
    }
  }

  #handOut(n: bigint, take: () => boolean): void {
    if (!take()) return
    this.at(n).handedOut++
    this.inHand.add(n)
    // Without a crash nothing comes twice, whoever holds the lane.
    if (this.crashes === 0) expect(this.at(n).handedOut).toBe(1)
  }

  /** The gap row of another lane opens numbers once more, as when that lane is taken. */
  reopen(lo: bigint, hi: bigint): void {
    const { position } = this
    const passedBy = position.cursor >= lo && position.startedAt < hi ? new Map([[position, position.cursor]]) : null
    this.open.add(lo, hi, this.nowMs, passedBy)
  }

  settle(n: bigint): void {
    this.at(n).settled = true
    this.inHand.delete(n)
    this.position.settled(n)
  }

  write(last = false): LanePlan | null {
    const plan = this.position.plan(this.open.ranges, last ? Infinity : this.nowMs)
    if (plan === null) return null
    const named = [...plan.gone, ...plan.born.map((r) => r.lo), ...plan.shrunk.map((r) => r.lo)]
    expect(new Set(named).size).toBe(named.length)
    for (const lo of plan.gone) expect(this.stored.gaps.delete(lo)).toBe(true)
    for (const { lo, hi } of plan.born) {
      expect(this.stored.gaps.has(lo)).toBe(false)
      this.stored.gaps.set(lo, hi)
    }
    for (const { lo, hi } of plan.shrunk) {
      expect(this.stored.gaps.has(lo)).toBe(true)
      this.stored.gaps.set(lo, hi)
    }
    expect(plan.upto).toBeGreaterThanOrEqual(this.stored.upto)
    this.stored.upto = plan.upto
    expect(this.gaps).toEqual(plan.gaps)
    this.position.apply(plan, '(0,2)', this.nowMs)
    this.check()
    return plan
  }

  /** What a crash at this moment must not lose, and what an orderly hand-over must not repeat. */
  check(): void {
    const { gaps } = this
    gaps.forEach((gap, i) => expect(gap.lo <= gap.hi && (i === 0 || gaps[i - 1]!.hi < gap.lo)).toBe(true))
    for (let n = 1n; n <= this.stored.upto; n++) {
      const number = this.at(n)
      const done = number.state === 'dead' || (number.state === 'visible' && (!number.mine || number.settled))
      if (!done) expect({ n, covered: covers(gaps, n) }).toEqual({ n, covered: true })
    }
  }

  crash(): void {
    this.crashes++
    this.startAnew()
  }

  /** An orderly hand-over: all but what is in hand is written, and the next holder reads on. */
  handOver(): void {
    this.write(true)
    for (const n of this.inHand) this.at(n).handedOut = 0
    this.startAnew()
  }

  startAnew(): void {
    this.inHand.clear()
    this.position = this.#take()
  }
}

const command = fc.oneof(
  { weight: 4, arbitrary: fc.record({ what: fc.constant('cycle' as const), most: fc.integer({ min: 1, max: 6 }) }) },
  { weight: 4, arbitrary: fc.record({ what: fc.constant('commit' as const), pick: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('die' as const), pick: fc.nat() }) },
  { weight: 6, arbitrary: fc.record({ what: fc.constant('settle' as const), pick: fc.nat() }) },
  { weight: 5, arbitrary: fc.record({ what: fc.constant('write' as const), afterMs: fc.constantFrom(0, 0, 40, 150, 1_200) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('reopen' as const), pick: fc.nat(), length: fc.integer({ min: 0, max: 4 }) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('crash' as const) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('hand over' as const) }) },
)
const numbers = fc.array(fc.record({ mine: fc.boolean(), visible: fc.boolean() }), { minLength: 1, maxLength: 24 })

const pickOf = (all: readonly bigint[], pick: number): bigint | undefined => all[pick % Math.max(all.length, 1)]

function play(world: World, commands: readonly (typeof command extends fc.Arbitrary<infer C> ? C : never)[]): void {
  const invisible = () => world.numbers.flatMap((n, i) => (n.state === 'invisible' ? [BigInt(i + 1)] : []))
  for (const c of commands) {
    if (c.what === 'cycle') world.cycle(c.most)
    else if (c.what === 'commit') {
      const n = pickOf(invisible(), c.pick)
      if (n !== undefined) world.at(n).state = 'visible'
    } else if (c.what === 'die') {
      // Only what is open is ever judged.
      const n = pickOf(
        invisible().filter((open) => world.open.find(open) !== undefined),
        c.pick,
      )
      if (n !== undefined) {
        world.at(n).state = 'dead'
        world.open.remove(n, n)
      }
    } else if (c.what === 'settle') {
      const n = pickOf([...world.inHand], c.pick)
      if (n !== undefined) world.settle(n)
    } else if (c.what === 'write') {
      world.nowMs += c.afterMs
      world.write()
    } else if (c.what === 'reopen') {
      const lo = BigInt((c.pick % world.numbers.length) + 1)
      const hi = lo + BigInt(c.length)
      world.reopen(lo, hi > BigInt(world.numbers.length) ? BigInt(world.numbers.length) : hi)
    } else if (c.what === 'crash') world.crash()
    else world.handOver()
    world.check()
  }
}

/** Everything that is invisible dies, everything else is read and settled. */
function finish(world: World): void {
  for (let round = 0; round < 5; round++) {
    world.cycle(100)
    for (const n of world.inHand) world.settle(n)
    for (const n of world.openNumbers) {
      if (world.at(n).state === 'invisible') world.at(n).state = 'dead'
      world.open.remove(n, n)
    }
    world.nowMs += 2_000
    world.write()
  }
}

test('whatever happens in whatever order, no number at or below upto is forgotten, and in the end all is settled and no gap row is left', () => {
  fc.assert(
    fc.property(numbers, fc.array(command, { maxLength: 80 }), (start, commands) => {
      const world = new World(start)
      play(world, commands)
      finish(world)
      for (const number of world.numbers) if (number.mine && number.state === 'visible') expect(number.settled).toBe(true)
      expect(world.gaps).toEqual([])
    }),
    { numRuns: 2_000 },
  )
})

const fresh = (upto = 0n, gaps: readonly Range[] = []) => new LanePosition({ lane: 0, token: 1n, upto, ctid: '(0,1)', gaps })

test('a young gap holds upto back, an older one becomes a gap row', () => {
  const position = fresh()
  const open = new OpenNumbers()
  open.add(2n, 3n, 1_000)
  for (const n of [1n, 4n]) position.take(n, 1_000)
  position.cursor = 4n
  for (const n of [1n, 4n]) position.settled(n)
  expect(position.plan(open.ranges, 1_050)).toMatchObject({ upto: 1n, gaps: [] })
  expect(position.plan(open.ranges, 1_100)).toMatchObject({ upto: 4n, born: [{ lo: 2n, hi: 3n }] })
})

test('a message that stays unsettled holds upto back for a second, then it becomes a gap row', () => {
  const position = fresh()
  for (const n of [1n, 2n, 3n]) position.take(n, 1_000)
  position.cursor = 3n
  for (const n of [1n, 3n]) position.settled(n)
  expect(position.plan([], 1_999)).toMatchObject({ upto: 1n })
  expect(position.plan([], 2_000)).toMatchObject({ upto: 3n, born: [{ lo: 2n, hi: 2n }] })
})

test('nothing above the last settled message is passed, however old it is', () => {
  const position = fresh()
  for (const n of [1n, 2n, 3n]) position.take(n, 1_000)
  position.cursor = 3n
  position.settled(1n)
  expect(position.plan([], 60_000)).toMatchObject({ upto: 1n, gaps: [] })
})

test('a row that was split keeps its lo with another hi, and a new row begins behind', () => {
  const position = fresh(20n, [{ lo: 5n, hi: 10n }])
  const open = new OpenNumbers()
  open.add(5n, 10n, 0)
  const range = open.find(7n)!
  open.remove(7n, 7n)
  expect(position.takeLate(7n, range, 0)).toBe(true)
  position.settled(7n)
  expect(position.plan(open.ranges, 5_000)).toMatchObject({ gone: [], shrunk: [{ lo: 5n, hi: 6n }], born: [{ lo: 8n, hi: 10n }] })
})

test('a number below the start that no gap row names was settled by somebody: it is not taken', () => {
  const position = fresh(20n, [{ lo: 5n, hi: 5n }])
  const open = new OpenNumbers()
  open.add(1n, 30n, 0)
  expect(position.takeLate(6n, open.find(6n)!, 0)).toBe(false)
  expect(position.takeLate(5n, open.find(5n)!, 0)).toBe(true)
  expect(position.takeLate(5n, open.find(5n)!, 0)).toBe(false)
})

test('readAbove counts what was read above upto, late ones too, until upto passes them', () => {
  const position = fresh()
  const open = new OpenNumbers()
  open.add(2n, 2n, 0)
  for (const n of [1n, 3n]) position.take(n, 0)
  position.cursor = 3n
  expect(position.readAbove).toBe(2)
  position.takeLate(2n, open.find(2n)!, 0)
  expect(position.readAbove).toBe(3)
  for (const n of [1n, 2n, 3n]) position.settled(n)
  position.apply(position.plan([], 0)!, '(0,2)', 0)
  expect(position.readAbove).toBe(0)
  expect(position.unsettled).toBe(0)
})

test("a number that was taken by a gap row is not taken once more, and keeps no gap row, when another lane's row opens it again", () => {
  const position = fresh(20n, [{ lo: 5n, hi: 9n }])
  const open = new OpenNumbers()
  open.add(5n, 9n, 0)
  const range = open.find(7n)!
  open.remove(7n, 7n)
  expect(position.takeLate(7n, range, 0)).toBe(true)
  open.add(7n, 7n, 0)
  expect(position.plan(open.ranges, 5_000)?.gaps).toEqual([
    { lo: 5n, hi: 6n },
    { lo: 7n, hi: 7n },
    { lo: 8n, hi: 9n },
  ])
  position.settled(7n)
  expect(position.takeLate(7n, open.find(7n)!, 0)).toBe(false)
  expect(position.plan(open.ranges, Infinity)?.gaps).toEqual([
    { lo: 5n, hi: 6n },
    { lo: 8n, hi: 9n },
  ])
})
