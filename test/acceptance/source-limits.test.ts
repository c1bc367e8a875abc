// What bounds an answer: rows, bytes, numbers above the position. Whatever the bound, all comes, once and in order.
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Message } from '../../src/core/index.ts'
import { laneOf } from '../../src/databases/postgres/index.ts'
import { describePostgres } from '../setup/index.ts'
import {
  beforeStatement,
  createOutbox,
  delivered,
  insert,
  secondRelay,
  Stepper,
  text,
  texts,
  type DriverOptions,
  type Outbox,
} from './source-driver.ts'

const bytes = (messages: readonly Message[]) => messages.reduce((sum, m) => sum + (m.payload?.length ?? 0), 0)
const insertMany = async (client: Outbox['admin'], count: number, payload: string, key: string) => {
  await client.query(
    `insert into outrider.outbox (aggregate_type, aggregate_id, event_type, payload)
       select 'thing', $1, 'Happened', $2 || '-' || n from generate_series(1, $3::int) n order by n`,
    [key, payload, count],
  )
}

describePostgres('the limits of the log source', () => {
  let outbox: Outbox
  let source: Stepper
  const start = async (options: DriverOptions = {}) => {
    source = await Stepper.open(outbox, options)
  }
  const large = 'x'.repeat(900_000)
  const noise = Array.from({ length: 900_000 }, () => Math.random().toString(36)[3] ?? 'y').join('')

  beforeEach(async () => {
    outbox = await createOutbox()
  })
  afterEach(async () => {
    await source.close()
    await outbox.close()
  })

  test.each([
    ['compressed on disk', large],
    ['as they are', noise],
  ])('rows of 900 kB, %s: no answer has more bytes than asked for but for a single row, all come in order', async (_, payload) => {
    await start()
    await outbox.insert('small first', 'k')
    await insertMany(outbox.admin, 10, payload, 'k')
    await outbox.insert('small last', 'k')
    for (let reads = 0; source.delivered.length < 12 && reads < 40; reads++) {
      const messages = await source.step(0, 2_000_000)
      expect(bytes(messages)).toBeLessThanOrEqual(2_000_000)
    }
    for (const message of source.delivered.slice(1, -1)) expect(text(message).startsWith(payload)).toBe(true)
    expect(source.delivered.map((m) => m.seq)).toEqual(Array.from({ length: 12 }, (_unused, i) => BigInt(i + 1)))
    expect(await source.rest()).toEqual([])
  })

  test('a single row above the limit comes alone', async () => {
    await start()
    await outbox.insert(large, 'k')
    await outbox.insert('small', 'k')
    expect(bytes(await source.step(0, 1_000))).toBe(900_000)
    expect(texts(await source.step(0, 1_000))).toEqual(['small'])
  })

  test('large rows that committed late come within the limit too, before later rows of their key', async () => {
    await start()
    const late = await outbox.connect()
    await late.query('begin')
    await insertMany(late, 8, large, 'k')
    await outbox.insert('early', 'other')
    await source.step()
    await late.query('commit')
    await outbox.insert('after', 'k')
    while (source.delivered.length < 10) expect(bytes(await source.step(0, 2_000_000))).toBeLessThanOrEqual(2_000_000)
    expect(source.delivered.map((m) => m.seq)).toEqual([9n, 1n, 2n, 3n, 4n, 5n, 6n, 7n, 8n, 10n])
    expect(await source.rest()).toEqual([])
  })

  test('a large transaction that committed late is handed out in parts, and later rows of its key after it', async () => {
    await start({ batchSize: 10 })
    const late = await outbox.connect()
    await late.query('begin')
    await insertMany(late, 500, 'late', 'k')
    await outbox.insert('early', 'other')
    await source.step()
    await late.query('commit')
    await insertMany(outbox.admin, 50, 'after', 'k')
    while (source.delivered.length < 551) expect((await source.step()).length).toBeLessThanOrEqual(10)
    const expected = [
      'early',
      ...Array.from({ length: 500 }, (_, i) => `late-${i + 1}`),
      ...Array.from({ length: 50 }, (_, i) => `after-${i + 1}`),
    ]
    expect(source.texts).toEqual(expected)
    expect(await source.rest()).toEqual([])
  })

  test('a transaction of 2,000 events whose tail was rolled back to a savepoint: all that is there, nothing else', async () => {
    await start({ batchSize: 100 })
    const late = await outbox.connect()
    await late.query('begin')
    await insertMany(late, 1_000, 'kept', 'k')
    await late.query('savepoint s')
    await insertMany(late, 1_000, 'undone', 'k')
    await late.query('rollback to savepoint s')
    await outbox.insert('early', 'other')
    await source.rest()
    await late.query('commit')
    await source.rest()
    expect(source.delivered).toHaveLength(1_001)
    expect(source.texts.some((t) => t.startsWith('undone'))).toBe(false)
  })

  test('of a lane never more than maxInFlight numbers are handed out above its position', async () => {
    await start({ batchSize: 20, maxInFlight: 50 })
    await insertMany(outbox.admin, 400, 'event', 'k')
    const [stuck, ...rest] = await source.read()
    await source.settle(rest)
    for (let i = 0; i < 20; i++) await source.settle((await source.read()).filter((m) => m.seq !== stuck!.seq))
    expect(source.delivered.length + 1).toBe(50)
    // After a second the position goes on without it.
    while (source.delivered.length < 399) await source.settle(await source.read(300))
    await source.settle([stuck!])
    expect(new Set(source.texts).size).toBe(400)
    await source.rest()
    await source.step(1_500)
    expect((await outbox.admin.query('select from outrider.outbox_gap')).rowCount).toBe(0)
  })

  test('lanes without room get nothing and lose nothing; the others go on', async () => {
    await start({ batchSize: 20 })
    const keys = Array.from({ length: 40 }, (_, i) => `key ${i}`)
    for (const key of keys) await insertMany(outbox.admin, 5, key, key)
    const signal = AbortSignal.timeout(20_000)
    const half = new Map([0, 2, 4, 6].map((lane) => [lane, 7]))
    const read = async (room: ReadonlyMap<number, number>) => {
      const looked = new AbortController()
      source.clock.onRest = () => looked.abort()
      const messages = await source.source.read({ room, maxBytes: 1_000_000, signal: AbortSignal.any([signal, looked.signal]) })
      for (const [lane, most] of room) expect(messages.filter((m) => m.lane === lane).length).toBeLessThanOrEqual(most)
      expect(messages.every((m) => room.has(m.lane))).toBe(true)
      await source.settle(messages)
      return messages.length
    }
    for (let vain = 0; vain < 3; vain = (await read(half)) === 0 ? vain + 1 : 0);
    const ofHalf = source.delivered.length
    expect(ofHalf).toBeGreaterThan(0)
    expect(ofHalf).toBeLessThan(200)
    await outbox.insert('one more', keys[0])
    const all = new Map(Array.from({ length: 8 }, (_, lane) => [lane, 20]))
    for (let vain = 0; vain < 3; vain = (await read(all)) === 0 ? vain + 1 : 0);
    expect(new Set(source.texts).size).toBe(201)
    expect(source.delivered).toHaveLength(201)
    for (const key of keys) {
      const seqs = source.delivered.filter((m) => m.key === key).map((m) => m.seq)
      expect(seqs).toEqual(seqs.toSorted((a, b) => (a < b ? -1 : 1)))
    }
  })

  test('a lane that is handed over goes on where it was: nothing young holds its position back', async () => {
    await start()
    const open = await outbox.connect()
    await open.query('begin')
    await insert(open, 'late')
    for (let i = 0; i < 50; i++) await outbox.insert(`event ${i}`)
    await source.step()
    await source.source.ownership.release([0, 1, 2, 3, 4, 5, 6, 7])
    const next = await Stepper.open(outbox, { relayId: secondRelay })
    await next.rest()
    expect(next.texts).toEqual([])
    await open.query('commit')
    await next.rest()
    expect(next.texts).toEqual(['late'])
    await next.close()
  })

  test('a gap row that its lane left behind brings no delivered message of another lane again', async () => {
    await start()
    const stale = [0, 1, 2].find((lane) => lane !== laneOf('late', 8) && lane !== laneOf('early', 8))!
    await source.source.ownership.release([stale])
    const other = await Stepper.open(outbox, { relayId: secondRelay })
    expect(other.grants.map((grant) => grant.lane)).toEqual([stale])
    const late = await outbox.connect()
    await late.query('begin')
    await insert(late, 'late', 'late')
    await outbox.insert('early', 'early')
    await source.rest()
    await other.rest()
    await other.step(1_500)
    expect((await outbox.admin.query('select from outrider.outbox_gap where lane = $1 and lo = 1', [stale])).rowCount).toBe(1)
    await late.query('commit')
    await source.rest()
    await outbox.insert('newer', 'late')
    await source.rest()
    await other.close()
    await outbox.admin.query(`update outrider.outbox_lease set ends_at = clock_timestamp() - interval '1 s' where lane = $1`, [stale])
    await source.acquire()
    expect(source.grants.map((grant) => grant.lane)).toEqual([stale])
    await source.rest()
    expect(source.texts).toEqual(['early', 'late', 'newer'])
    await source.step(1_500)
    expect((await outbox.admin.query('select from outrider.outbox_gap')).rowCount).toBe(0)
  })

  test.each(['guard', 'again', 'holders'])(
    'a lane that is lost and taken anew while its rows are read (at the statement %s) gives them once, in order',
    async (statement) => {
      await start()
      const undone = await outbox.connect()
      await undone.query('begin')
      await insert(undone, 'undone')
      const pending = await outbox.connect()
      await pending.query('begin')
      await insert(pending, 'pending')
      await outbox.insert('one', 'k')
      await source.step()
      await source.step(1_200)
      await undone.query('rollback')
      await insertMany(outbox.admin, 10, 'event', 'k')
      let happened = false
      const unhook = beforeStatement(statement, async () => {
        happened = true
        await outbox.admin.query('update outrider.outbox_lease set owner = null')
        expect((await source.source.ownership.renew({ leaseMs: 30_000 })).lost).toHaveLength(8)
        await source.acquire()
        expect(source.grants).toHaveLength(8)
      })
      try {
        await source.rest()
      } finally {
        unhook()
      }
      expect(happened).toBe(true)
      expect(source.texts).toEqual(['one', ...Array.from({ length: 10 }, (_, i) => `event-${i + 1}`)])
    },
  )

  test('settling again what is settled, or what nobody handed out, changes nothing', async () => {
    await start()
    await outbox.insert('one')
    const messages = await source.step()
    expect((await source.source.settle(delivered(messages))).lost).toEqual([])
    await outbox.insert('two')
    expect(texts(await source.step())).toEqual(['two'])
  })
})
