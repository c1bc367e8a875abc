// The gap rule in cases of two or three transactions, one cycle of the source at a time, under a clock that stands still.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { describePostgres } from '../setup/index.ts'
import { copyFrom } from './source-copy.ts'
import { createOutbox, insert, partition, Stepper, text, texts, type Outbox } from './source-driver.ts'

describePostgres('the log source, two or three transactions at a time', () => {
  let outbox: Outbox
  let source: Stepper

  beforeEach(async () => {
    outbox = await createOutbox()
    source = await Stepper.open(outbox)
  })
  afterEach(async () => {
    await source.close()
    await outbox.close()
  })

  const openNumbers = (): number =>
    source.events.reduce((sum, event) => {
      if (event.name === 'gap.found') return sum - 1
      if (event.name === 'gap.opened') return sum + Number(event.hi - event.lo) + 1
      return event.name === 'gap.dead' ? sum - Number(event.hi - event.lo) - 1 : sum
    }, 0)
  const gapRows = async () => (await outbox.admin.query('select lane, lo, hi from outrider.outbox_gap order by lane, lo')).rows
  const positions = async () =>
    (await outbox.admin.query<{ upto: string }>('select upto from outrider.outbox_position order by lane')).rows.map((r) => Number(r.upto))

  test('a late commit is delivered once, by the next look', async () => {
    const late = await outbox.connect()
    await late.query('begin')
    await insert(late, 'late')
    await outbox.insert('early')
    expect(texts(await source.step())).toEqual(['early'])
    await late.query('commit')
    expect(texts(await source.step())).toEqual(['late'])
    expect(await source.rest()).toEqual([])
    expect(openNumbers()).toBe(0)
  })

  test('a number that was rolled back never stalls delivery, and is struck out', async () => {
    const other = await outbox.connect()
    for (const round of [1, 2, 3]) {
      await other.query('begin')
      await insert(other, 'undone')
      await outbox.insert(`kept ${round}`)
      await other.query('rollback')
      expect(texts(await source.step(60))).toEqual([`kept ${round}`])
    }
    await source.rest()
    expect(openNumbers()).toBe(0)
    await source.step(1_100)
    expect(await gapRows()).toEqual([])
    expect(new Set(await positions())).toEqual(new Set([6]))
  })

  test('an open transaction delays only its own events, however many come after it', async () => {
    const slow = await outbox.connect()
    await slow.query('begin')
    await insert(slow, 'slow 1', 'slow')
    for (let i = 0; i < 20; i++) {
      await outbox.insert(`quick ${i}`)
      expect(texts(await source.step(400))).toEqual([`quick ${i}`])
    }
    await insert(slow, 'slow 2', 'slow')
    await outbox.insert('quick last')
    expect(texts(await source.step(400))).toEqual(['quick last'])
    // The position has passed the slow transaction: its number is written down for every lane.
    expect(Math.min(...(await positions()))).toBeGreaterThan(1)
    expect((await gapRows()).filter((row) => row.lo === '1')).toHaveLength(8)
    await slow.query('commit')
    expect(texts(await source.step())).toEqual(['slow 1', 'slow 2'])
    await source.rest()
    await source.step(1_100)
    expect(await gapRows()).toEqual([])
  })

  test('of one key, what is found late comes before the rows of the window', async () => {
    const first = await outbox.connect()
    await first.query(`begin; select pg_advisory_xact_lock(1)`)
    await insert(first, 'first', 'k')
    await outbox.insert('other')
    expect(texts(await source.step())).toEqual(['other'])
    await first.query('commit')
    await outbox.insert('second', 'k')
    expect(texts(await source.step())).toEqual(['first', 'second'])
  })

  test('several late ones of a key come in the order of their numbers', async () => {
    const writers = await Promise.all([1, 2, 3].map(() => outbox.connect()))
    for (const [i, writer] of writers.entries()) {
      await writer.query('begin')
      await insert(writer, `late ${i}`, 'k')
    }
    await outbox.insert('early', 'k2')
    await source.step()
    for (const writer of writers.toReversed()) await writer.query('commit')
    expect(texts(await source.step())).toEqual(['late 0', 'late 1', 'late 2'])
  })

  test('a number undone by ROLLBACK TO SAVEPOINT is struck out only when its transaction has ended', async () => {
    const writer = await outbox.connect()
    await writer.query('begin')
    await writer.query('savepoint s')
    await insert(writer, 'undone')
    await writer.query('rollback to savepoint s')
    const kept = await insert(writer, 'kept')
    await outbox.insert('early')
    expect(texts(await source.rest())).toEqual(['early'])
    expect(source.events.some((e) => e.name === 'gap.dead')).toBe(false)
    await writer.query('commit')
    expect(texts(await source.rest())).toEqual(['kept'])
    expect(kept).toBe(2n)
    expect(openNumbers()).toBe(0)
  })

  test('a prepared transaction keeps its numbers alive until it is committed, also when its session has gone', async () => {
    const writer = await outbox.connect()
    await writer.query('begin')
    await insert(writer, 'prepared')
    await writer.query(`prepare transaction 'source-${process.pid}'`)
    await outbox.insert('early')
    expect(texts(await source.rest())).toEqual(['early'])
    await writer.end()
    expect(await source.rest()).toEqual([])
    await outbox.admin.query(`commit prepared 'source-${process.pid}'`)
    expect(texts(await source.step())).toEqual(['prepared'])
  })

  test('a transaction that is seen running and then prepared keeps its numbers alive', async () => {
    const writer = await outbox.connect()
    await writer.query('begin')
    await insert(writer, 'prepared later')
    await outbox.insert('early')
    expect(texts(await source.rest())).toEqual(['early'])
    await writer.query(`prepare transaction 'source-later-${process.pid}'`)
    await writer.query('begin')
    expect(await source.rest()).toEqual([])
    await writer.query('commit')
    await writer.query(`commit prepared 'source-later-${process.pid}'`)
    expect(texts(await source.step())).toEqual(['prepared later'])
  })

  test('a delay between number and row loses nothing', async () => {
    await outbox.admin.query(`
      create function wait_for_lock() returns trigger language plpgsql as
        $$ begin if new.payload = 'slow' then perform pg_advisory_xact_lock(77); end if; return new; end $$;
      create trigger slow before insert on outrider.outbox for each row execute function wait_for_lock()`)
    const gate = await outbox.connect()
    await gate.query('select pg_advisory_lock(77)')
    const writer = await outbox.connect()
    const inserted = insert(writer, 'slow')
    while ((await outbox.admin.query(`select from pg_locks where locktype = 'advisory' and not granted`)).rowCount === 0);
    await outbox.insert('early')
    expect(texts(await source.rest())).toEqual(['early'])
    await gate.query('select pg_advisory_unlock(77)')
    await inserted
    expect(texts(await source.step())).toEqual(['slow'])
  })

  test('COPY, functions, INSERT ... SELECT, and a number taken by the client are all waited for', async () => {
    await outbox.admin.query(`create function write_event(what text) returns void language sql as
      $$ insert into outrider.outbox (aggregate_type, aggregate_id, event_type, payload) values ('thing', what, 'Happened', what) $$`)
    const ways: [string, (client: Awaited<ReturnType<Outbox['connect']>>) => Promise<unknown>][] = [
      [
        'copy',
        (c) =>
          copyFrom(
            c,
            'copy outrider.outbox (aggregate_type, aggregate_id, event_type, payload) from stdin',
            'thing\tcopy\tHappened\tcopy\n',
          ),
      ],
      ['function', (c) => c.query(`select write_event('function')`)],
      ['select', (c) => c.query(`insert into outrider.outbox (aggregate_type, event_type, payload) select 'thing', 'Happened', 'select'`)],
      [
        'own number',
        async (c) => {
          const { rows } = await c.query<{ n: string }>(`select nextval('outrider.outbox_seq_seq') as n`)
          await c.query('savepoint s')
          await c.query(
            `insert into outrider.outbox (seq, aggregate_type, event_type, payload) overriding system value values ($1, 'thing', 'Happened', 'own number')`,
            [rows[0]!.n],
          )
        },
      ],
    ]
    const writers = []
    for (const [, write] of ways) {
      const writer = await outbox.connect()
      await writer.query('begin')
      await write(writer)
      writers.push(writer)
    }
    await outbox.insert('early')
    expect(texts(await source.rest())).toEqual(['early'])
    for (const writer of writers) await writer.query('commit')
    expect(texts((await source.step()).toSorted((a, b) => (a.seq < b.seq ? -1 : 1)))).toEqual(ways.map(([name]) => name))
  })

  test('a row inserted straight into a partition is waited for', async () => {
    await source.close()
    await partition(outbox)
    source = await Stepper.open(outbox)
    const writer = await outbox.connect()
    await writer.query('begin')
    await insert(writer, 'straight', 'k', 'outbox_first')
    await outbox.insert('early')
    expect(texts(await source.rest())).toEqual(['early'])
    await writer.query('commit')
    expect(texts(await source.step())).toEqual(['straight'])
  })

  test('numbers beyond 2^53 are exact, in gaps and gap rows too', async () => {
    const start = 9_007_199_254_740_993n
    await outbox.admin.query(`alter table outrider.outbox alter column seq restart with ${start}`)
    await outbox.admin.query(`update outrider.outbox_meta set sequence_filenode = pg_relation_filenode('outrider.outbox_seq_seq')`)
    await source.close()
    source = await Stepper.open(outbox)
    const late = await outbox.connect()
    await late.query('begin')
    expect(await insert(late, 'late')).toBe(start)
    await outbox.insert('early')
    await source.step()
    await outbox.insert('next')
    await source.step(1_200)
    await source.step(1_200)
    expect((await outbox.admin.query('select distinct hi from outrider.outbox_gap')).rows).toEqual([{ hi: String(start) }])
    await late.query('commit')
    await source.rest()
    expect(source.delivered.map((m) => [m.seq, text(m)])).toEqual([
      [start + 1n, 'early'],
      [start + 2n, 'next'],
      [start, 'late'],
    ])
  })

  test('an idle transaction that took its number before can not own later ones: they are struck out', async () => {
    const idle = await outbox.connect()
    await idle.query('begin')
    await insert(idle, 'kept open')
    const other = await outbox.connect()
    const undo = async () => {
      await other.query('begin')
      await insert(other, 'undone')
      await other.query('rollback')
    }
    for (let i = 0; i < 50; i++) {
      await undo()
      await outbox.insert(`kept ${i}`)
      await source.step(60)
    }
    await source.rest()
    expect(openNumbers()).toBeLessThan(5)
    // When it goes on, it may own the next numbers again.
    await insert(idle, 'kept open, too')
    await outbox.insert('last')
    await source.rest()
    await idle.query('commit')
    await source.rest()
    expect(source.texts.slice(-3)).toEqual(['last', 'kept open', 'kept open, too'])
  })

  test('a statement that runs while the holders are looked at exonerates nobody', async () => {
    const busy = await outbox.connect()
    await busy.query('begin')
    await insert(busy, 'early of busy')
    await outbox.insert('one')
    await source.rest()
    // Sampled as idle; then it takes a number and is idle anew.
    await insert(busy, 'late of busy')
    await outbox.insert('two')
    await source.rest()
    await busy.query('commit')
    await source.rest()
    expect(source.texts).toEqual(['one', 'two', 'early of busy', 'late of busy'])
  })

  test('lag: what is above the position or was found late, and nothing for numbers that no row has', async () => {
    expect(await source.source.lag()).toEqual({ backlog: 0, oldestMs: 0 })
    const slow = await outbox.connect()
    await slow.query('begin')
    await insert(slow, 'slow')
    await outbox.insert('one')
    await outbox.insert('two')
    const waiting = await source.source.lag()
    expect(waiting.backlog).toBe(3)
    expect(waiting.oldestMs).toBeGreaterThanOrEqual(0)
    await source.rest()
    await source.step(1_500)
    // The open transaction is nobody's delay yet.
    expect(await source.source.lag()).toEqual({ backlog: 0, oldestMs: 0 })
    const undone = await outbox.connect()
    await undone.query('begin')
    for (let i = 0; i < 20; i++) await insert(undone, 'undone')
    await undone.query('rollback')
    expect(await source.source.lag()).toEqual({ backlog: 0, oldestMs: 0 })
    await outbox.admin.query(`update outrider.outbox_lease set owner = null`)
    await source.source.ownership.renew({ leaseMs: 1 })
    await slow.query('commit')
    expect((await source.source.lag()).backlog).toBeGreaterThan(0)
    expect((await source.source.lag()).oldestMs).toBeGreaterThan(0)
  })
})
