// The gap experiment: at least 30 writers at once, and every committed event once and in the order of its key.
// Longer by OUTRIDER_TEST_GAP_SECONDS.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { deleteSettled } from '../../src/databases/postgres/clean-up.ts'
import type { Safeties } from '../../src/databases/postgres/log/safeties.ts'
import { namesOf } from '../../src/databases/postgres/names.ts'
import { describePostgres } from '../setup/index.ts'
import { prepareLoad, startLoad, type Committed, type LoadOptions } from './gap-writers.ts'
import { createOutbox, eventually, Follower, insert, partition, text, type Outbox } from './source-driver.ts'

const seconds = Number(process.env.OUTRIDER_TEST_GAP_SECONDS ?? 12)
const idleSeconds = Number(process.env.OUTRIDER_TEST_IDLE_SECONDS ?? 10)

interface Outcome {
  readonly lost: string[]
  readonly ghosts: string[]
  readonly twice: string[]
  readonly reordered: string[]
}

/** What was delivered against what was committed. The log's own order within a key is that of `seq`. */
function compare(committed: readonly Committed[], delivered: Follower['delivered']): Outcome {
  const expected = new Set(committed.map((c) => c.payload))
  const seen = new Set<string>()
  const newest = new Map<string, bigint>()
  const outcome: Outcome = { lost: [], ghosts: [], twice: [], reordered: [] }
  for (const message of delivered) {
    const payload = text(message)
    if (seen.has(payload)) outcome.twice.push(payload)
    if (!expected.has(payload)) outcome.ghosts.push(payload)
    seen.add(payload)
    const key = message.key ?? ''
    if ((newest.get(key) ?? 0n) > message.seq) outcome.reordered.push(payload)
    newest.set(key, message.seq)
  }
  for (const payload of expected) if (!seen.has(payload)) outcome.lost.push(payload)
  return outcome
}

describePostgres('the gap experiment', () => {
  let outbox: Outbox
  let follower: Follower | undefined

  beforeEach(async () => {
    outbox = await createOutbox()
    await partition(outbox)
    await prepareLoad(outbox)
  })
  afterEach(async () => {
    await follower?.stop()
    await outbox.close()
  })

  /** Runs the load to its end, and the source until it has been quiet for a while. */
  const run = async (load: LoadOptions, safeties: Partial<Safeties> = {}) => {
    await follower?.stop()
    const source = new Follower(outbox.url, { safeties, keepEvents: true })
    follower = source
    const { finished, counts } = startLoad(outbox, load)
    const committed = await finished
    let last = -1
    await eventually(
      'nothing comes any more',
      async () => {
        const before = last
        last = source.delivered.length
        await new Promise((resolve) => setTimeout(resolve, 700))
        return before === last
      },
      30_000,
    )
    return { committed, counts, source, outcome: compare(committed, source.delivered) }
  }

  test('33 writers: every committed event once, in order by key, while clean-up runs', { timeout: (seconds + 60) * 1_000 }, async () => {
    const cleaning = new AbortController()
    const cleaner = await outbox.connect()
    const cleanUp = (async () => {
      let deleted = 0
      while (!cleaning.signal.aborted) {
        const { rows } = await cleaner.query<{ seq: string }>('select seq from outrider.outbox order by seq limit 200')
        deleted += await deleteSettled(
          cleaner,
          namesOf(),
          rows.map((row) => BigInt(row.seq)),
        )
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
      return deleted
    })()
    const { committed, counts, source, outcome } = await run({ writers: 33, seconds })
    cleaning.abort()
    expect(outcome).toEqual({ lost: [], ghosts: [], twice: [], reordered: [] })
    expect(source.losses).toEqual([])
    expect(await cleanUp).toBeGreaterThan(0)
    // It proves something only if there was something of each kind.
    expect(committed.length).toBeGreaterThan(seconds * 50)
    for (const kind of ['commit', 'rollback', 'savepoint', 'prepared', 'seconds', 'lock forced'])
      expect(counts[kind] ?? 0).toBeGreaterThan(0)
    for (const name of ['gap.opened', 'gap.found', 'gap.dead']) expect(source.events.some((e) => e.name === name)).toBe(true)
    await eventually('all gap rows go', async () => (await outbox.admin.query('select from outrider.outbox_gap')).rowCount === 0)
  })

  test.each<[string, Partial<Safeties>, (outcome: Outcome) => string[]]>([
    ['no wait for the holders: events are lost', { waitForHolders: false }, (o) => o.lost],
    ["the table's lock in place of the sequence's: events are lost", { lockOfSequence: false }, (o) => o.lost],
    ['the window first: keys are reordered', { lateFirst: false }, (o) => o.reordered],
  ])('the same load, %s', { timeout: 120_000 }, async (_, safeties, broken) => {
    // Seconds are enough on an idle machine; a busy one gets more of them.
    let found: string[] = []
    for (let round = 1; found.length === 0 && round <= 6; round++) {
      found = broken((await run({ writers: 33, seconds: 4, name: `round ${round}` }, safeties)).outcome)
    }
    expect(found).not.toEqual([])
  })

  test(
    'one forgotten transaction under 100 rollbacks a second leaves open numbers in the hundreds at most',
    { timeout: (idleSeconds + 60) * 1_000 },
    async () => {
      const source = new Follower(outbox.url, { keepEvents: true })
      follower = source
      const forgotten = await outbox.connect()
      await forgotten.query('begin')
      await insert(forgotten, 'forgotten')
      const writer = await outbox.connect()
      const began = performance.now()
      let undone = 0
      while (performance.now() - began < idleSeconds * 1_000) {
        await writer.query('begin')
        await insert(writer, 'undone')
        await writer.query('rollback')
        undone++
        if (undone % 10 === 0) await insert(writer, `kept ${undone}`)
        await new Promise((resolve) => setTimeout(resolve, Math.max(0, began + undone * 10 - performance.now())))
      }
      const open = (): number =>
        source.events.reduce((sum, event) => {
          if (event.name === 'gap.found') return sum - 1
          if (event.name === 'gap.opened') return sum + Number(event.hi - event.lo) + 1
          return event.name === 'gap.dead' ? sum - Number(event.hi - event.lo) - 1 : sum
        }, 0)
      expect(undone).toBeGreaterThan(idleSeconds * 70)
      expect(open()).toBeLessThan(Math.min(400, undone / 2))
      await forgotten.query('commit')
      await eventually('all that was committed is delivered', () => source.delivered.length === Math.floor(undone / 10) + 1)
      expect(source.delivered.map(text)).toContain('forgotten')
    },
  )
})
