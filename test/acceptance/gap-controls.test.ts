// What each part of the gap rule is for: the same few transactions with the part and without it.
// Without it the case must fail every time, or it would prove nothing.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { describePostgres } from '../setup/index.ts'
import { deleteSettled } from '../../src/databases/postgres/clean-up.ts'
import { laneOf } from '../../src/databases/postgres/lane.ts'
import { namesOf } from '../../src/databases/postgres/names.ts'
import { acquireLanes } from '../../src/databases/postgres/queries.ts'
import type { Safeties } from '../../src/databases/postgres/log/safeties.ts'
import { beforeStatement, createOutbox, eventually, insert, partition, secondRelay, Stepper, type Outbox } from './source-driver.ts'

const names = namesOf()

describePostgres('the parts of the gap rule, each with and without', () => {
  let outbox: Outbox
  const steppers: Stepper[] = []
  const open = async (safeties: Partial<Safeties>, relayId?: string): Promise<Stepper> => {
    const stepper = await Stepper.open(outbox, { safeties, ...(relayId === undefined ? {} : { relayId }) })
    steppers.push(stepper)
    return stepper
  }

  beforeEach(async () => {
    outbox = await createOutbox()
  })
  afterEach(async () => {
    await Promise.all(steppers.splice(0).map((stepper) => stepper.close()))
    await outbox.close()
  })

  const lateCommit = async (safeties: Partial<Safeties>): Promise<string[]> => {
    const source = await open(safeties)
    const late = await outbox.connect()
    await late.query('begin')
    await insert(late, 'late')
    await outbox.insert('early')
    await source.rest()
    await late.query('commit')
    await source.rest()
    return source.texts
  }

  test('a number is dead only when all holders have ended', async () => {
    expect(await lateCommit({})).toEqual(['early', 'late'])
  })

  test('without the wait for the holders the late commit is lost', async () => {
    expect(await lateCommit({ waitForHolders: false })).toEqual(['early'])
  })

  const straightInsert = async (safeties: Partial<Safeties>): Promise<string[]> => {
    await partition(outbox)
    const source = await open(safeties)
    const late = await outbox.connect()
    await late.query('begin')
    await insert(late, 'straight', 'straight', 'outbox_first')
    await outbox.insert('early')
    await source.rest()
    await late.query('commit')
    await source.rest()
    return source.texts
  }

  test('the lock of the sequence shows who inserts straight into a partition', async () => {
    expect(await straightInsert({})).toEqual(['early', 'straight'])
  })

  test("by the table's lock in place of the sequence's that insert is lost", async () => {
    expect(await straightInsert({ lockOfSequence: false })).toEqual(['early'])
  })

  const waitingWriters = async (safeties: Partial<Safeties>): Promise<string[]> => {
    const source = await open(safeties)
    const first = await outbox.connect()
    await first.query('begin')
    await first.query('select pg_advisory_xact_lock(5)')
    await insert(first, 'first', 'k')
    await outbox.insert('other', 'o')
    await source.step()
    const second = await outbox.connect()
    const waits = second.query('begin; select pg_advisory_xact_lock(5)')
    await first.query('commit')
    await waits
    await insert(second, 'second', 'k')
    await second.query('commit')
    await source.rest()
    return source.texts
  }

  test('late ones before the window: the order of a key is that of its lock', async () => {
    expect(await waitingWriters({})).toEqual(['other', 'first', 'second'])
  })

  test('the window first: the later one of the key overtakes', async () => {
    expect(await waitingWriters({ lateFirst: false })).toEqual(['other', 'second', 'first'])
  })

  test.each(['window', 'guard', 'again', 'holders', 'appeared'])(
    'two writers of a key that commit one after the other just before the statement %s: their order is kept',
    async (statement) => {
      const source = await open({})
      const first = await outbox.connect()
      await first.query('begin')
      await insert(first, 'first', 'k')
      await outbox.insert('other', 'o')
      await source.rest()
      const undone = await outbox.connect()
      await undone.query('begin')
      await insert(undone, 'undone', 'u')
      await outbox.insert('another', 'o')
      await source.rest()
      await undone.query('rollback')
      let struck = false
      const unhook = beforeStatement(statement, async () => {
        struck = true
        await first.query('commit')
        await outbox.insert('second', 'k')
      })
      try {
        await source.rest()
      } finally {
        unhook()
      }
      expect(struck).toBe(true)
      await source.rest()
      expect(source.texts).toEqual(['other', 'another', 'first', 'second'])
    },
  )

  test('a commit between the look at the holders and the last look is found, not struck out', async () => {
    const source = await open({})
    const late = await outbox.connect()
    await late.query('begin')
    await insert(late, 'late')
    await outbox.insert('early')
    await source.rest()
    const unhook = beforeStatement('holders', () => late.query('commit'))
    try {
      await source.rest()
    } finally {
      unhook()
    }
    expect(source.texts).toEqual(['early', 'late'])
  })

  /** An unsettled straggler and the position beyond it, to be written by a relay that loses its lanes meanwhile. */
  const withStraggler = async () => {
    const source = await open({})
    const late = await outbox.connect()
    await late.query('begin')
    await insert(late, 'late')
    await outbox.insert('early')
    return { source, late, messages: await source.read() }
  }
  const takeOver = async () => {
    await outbox.admin.query(`update outrider.outbox_lease set ends_at = clock_timestamp() - interval '1 s'`)
    return open({}, secondRelay)
  }

  test('settlement in parts: a take-over between position and gap rows loses the late commit', async () => {
    const { source, late } = await withStraggler()
    const lane = laneOf('late', 8)
    const token = source.grants.find((g) => g.lane === lane)!.token.toString()
    const moved = await outbox.admin.query('update outrider.outbox_position set upto = 2 where lane = $1 and token = $2', [lane, token])
    expect(moved.rowCount).toBe(1)
    const next = await takeOver()
    const noted = await outbox.admin.query(
      'insert into outrider.outbox_gap (lane, lo, hi) select lane, 1, 1 from outrider.outbox_position where lane = $1 and token = $2',
      [lane, token],
    )
    expect(noted.rowCount).toBe(0)
    await next.rest()
    await late.query('commit')
    await next.rest()
    expect(next.texts).toEqual(['early'])
  })

  test('settlement in one statement: a take-over that it waits for leaves position and gap rows as they were', async () => {
    const { source, late, messages } = await withStraggler()
    source.clock.nowMs += 2_000
    const other = await outbox.connect()
    await other.query('begin')
    await outbox.admin.query(`update outrider.outbox_lease set ends_at = clock_timestamp() - interval '1 s'`)
    await other.query(acquireLanes(names), [secondRelay, 1, 8, []])
    const settling = source.settle(messages)
    await eventually(
      'the settlement waits',
      async () =>
        (await outbox.admin.query(`select from pg_stat_activity where wait_event_type = 'Lock' and query like '%outbox_gap%'`)).rowCount ===
        1,
    )
    await other.query('commit')
    expect(await settling).toHaveLength(8)
    const { rows } = await outbox.admin.query('select distinct upto from outrider.outbox_position')
    expect(rows).toEqual([{ upto: '0' }])
    const next = await takeOver()
    await late.query('commit')
    await next.rest()
    expect(next.texts.toSorted()).toEqual(['early', 'late'])
  })

  test('settlement of some lanes goes on when others were taken over', async () => {
    const source = await open({})
    for (let i = 0; i < 40; i++) await outbox.insert(`event ${i}`)
    const messages = await source.read()
    const other = await outbox.connect()
    await outbox.admin.query(`update outrider.outbox_lease set ends_at = clock_timestamp() - interval '1 s' where lane = 3`)
    await other.query(acquireLanes(names), [secondRelay, 60_000, 8, []])
    expect(await source.settle(messages)).toEqual([3])
    const { rows } = await outbox.admin.query<{ lane: number; upto: string }>(
      'select lane, upto from outrider.outbox_position order by lane',
    )
    expect(rows.map((r) => r.upto === '40')).toEqual([true, true, true, false, true, true, true, true])
  })

  /** One message handed out and not settled for so long that the position goes on without it. */
  const withUnsettled = async () => {
    const source = await open({})
    await outbox.insert('unsettled', 'a')
    for (let i = 0; i < 20; i++) await outbox.insert(`event ${i}`, 'a')
    const messages = await source.read()
    const rest = messages.filter((m) => m.seq !== 1n)
    const move = async () => {
      source.clock.nowMs += 1_500
      await source.settle(rest)
      await source.step(1_500)
    }
    return { source, move }
  }
  const candidates = Array.from({ length: 21 }, (_, i) => BigInt(i + 1))
  const left = async () =>
    (await outbox.admin.query<{ payload: string }>('select payload from outrider.outbox order by seq')).rows.map((r) => r.payload)

  test('clean-up in parts: a settlement between gap rows and position deletes a message that nobody delivered', async () => {
    const { move } = await withUnsettled()
    const gaps = (await outbox.admin.query<{ lo: string; hi: string }>('select lo, hi from outrider.outbox_gap')).rows
    await move()
    await outbox.admin.query(
      `delete from outrider.outbox o where seq = any($1) and seq <= (select min(upto) from outrider.outbox_position)
         and not exists (select from unnest($2::bigint[], $3::bigint[]) g(lo, hi) where o.seq between g.lo and g.hi)`,
      [candidates.map(String), gaps.map((g) => g.lo), gaps.map((g) => g.hi)],
    )
    expect(await left()).not.toContain('unsettled')
  })

  test('clean-up that decides in the DELETE keeps it, before and after the settlement', async () => {
    const { move } = await withUnsettled()
    expect(await deleteSettled(outbox.admin, names, candidates)).toBe(0)
    await move()
    expect(await deleteSettled(outbox.admin, names, candidates)).toBe(20)
    expect(await left()).toEqual(['unsettled'])
    expect(await deleteSettled(outbox.admin, names, candidates)).toBe(0)
  })
})
