// What the relay's role may do, and what it does when it may not. The rights are those that docs/postgres.md names.
import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { describePostgres } from '../setup/index.ts'
import { sqlOf, stopped } from './guards-error.ts'
import { connect, createOutbox, insert, Stepper, texts, type Outbox } from './source-driver.ts'

describePostgres('the rights of the relay', () => {
  let outbox: Outbox
  const role = `relay_${process.pid}`
  /** The one block of SQL under the heading Rights. */
  const [, rightsInDocs = ''] = /## Rights\n[^]*?```sql\n([^]*?)```/.exec(readFileSync('docs/postgres.md', 'utf8')) ?? []
  const as = () => {
    const url = new URL(outbox.url)
    url.username = role
    url.password = 'x'
    return { url: url.href }
  }

  beforeEach(async () => {
    outbox = await createOutbox()
    await outbox.admin.query(rightsInDocs.replaceAll(/\brelay\b/g, role).replace('...', 'x'))
  })
  afterEach(async () => {
    await outbox.admin.query(`drop owned by ${role}; drop role ${role}`)
    await outbox.close()
  })

  test('the least rights that the docs name are enough', async () => {
    const late = await outbox.connect()
    await late.query('begin')
    await insert(late, 'late')
    await outbox.insert('early')
    const source = await Stepper.open(as())
    await source.rest()
    await source.step(1_500)
    await source.source.ownership.renew({ leaseMs: 30_000 })
    await source.source.storeFence(0, Buffer.from('fence'))
    await late.query('commit')
    await source.rest()
    expect(source.texts).toEqual(['early', 'late'])
    expect(await source.source.lag()).toMatchObject({ backlog: expect.any(Number) as number })
    await source.source.ownership.release([0, 1])
    await source.close()
  })

  test.each([true, false])(
    'with pg_read_all_stats (%s) a forgotten session keeps later numbers open or not; without it, it is waited for',
    async (sees) => {
      if (!sees) await outbox.admin.query(`revoke pg_read_all_stats from ${role}`)
      const idle = await outbox.connect()
      await idle.query('begin')
      await insert(idle, 'forgotten')
      const other = await outbox.connect()
      const source = await Stepper.open(as())
      for (let i = 0; i < 20; i++) {
        await other.query('begin')
        await insert(other, 'undone')
        await other.query('rollback')
        await outbox.insert(`kept ${i}`)
        await source.step(60)
      }
      await source.rest()
      const dead = source.events.filter((event) => event.name === 'gap.dead').length
      if (sees) expect(dead).toBeGreaterThan(15)
      else expect(dead).toBe(0)
      await idle.query('commit')
      await source.rest()
      expect(source.texts).toContain('forgotten')
      expect(source.delivered).toHaveLength(21)
      await source.close()
    },
  )

  test('a writer needs no right but INSERT', async () => {
    const writer = `writer_${process.pid}`
    await outbox.admin.query(
      `create role ${writer} login password 'x'; grant usage on schema outrider to ${writer}; grant insert on outrider.outbox to ${writer}`,
    )
    const url = new URL(outbox.url)
    url.username = writer
    url.password = 'x'
    const client = await connect(url.href)
    await client.query(`insert into outrider.outbox (aggregate_type, event_type, payload) values ('thing', 'Happened', 'written')`)
    await client.end()
    await outbox.admin.query(`drop owned by ${writer}; drop role ${writer}`)
    const source = await Stepper.open(as())
    expect(texts(await source.rest())).toEqual(['written'])
    await source.close()
  })

  test('no SELECT on the sequence: SOURCE_FORBIDDEN', async () => {
    await outbox.admin.query(`revoke select on sequence outrider.outbox_seq_seq from ${role}`)
    const error = await stopped(Stepper.open(as()))
    expect(error).toMatchObject({ code: 'SOURCE_FORBIDDEN', retryable: false })
    await outbox.admin.query(sqlOf(error).replace('<relay role>', role))
    await (await Stepper.open(as())).close()
  })

  test('no SELECT on the outbox: SOURCE_FORBIDDEN', async () => {
    await outbox.admin.query(`revoke select on outrider.outbox from ${role}`)
    const error = await stopped(Stepper.open(as()))
    expect(error).toMatchObject({ code: 'SOURCE_FORBIDDEN', retryable: false })
    await outbox.admin.query(sqlOf(error).replace('<relay role>', role))
    await (await Stepper.open(as())).close()
  })

  test('no USAGE on the schema: SOURCE_FORBIDDEN', async () => {
    await outbox.admin.query(`revoke usage on schema outrider from ${role}`)
    expect(await stopped(Stepper.open(as()))).toMatchObject({ code: 'SOURCE_FORBIDDEN', retryable: false })
  })

  test('row-level security that would hide rows: ROWS_HIDDEN, at the start and while it runs', async () => {
    const source = await Stepper.open(as())
    await outbox.insert('hidden')
    await outbox.admin.query(
      `alter table outrider.outbox enable row level security; create policy none on outrider.outbox using (payload <> 'hidden')`,
    )
    expect(await stopped(source.step())).toMatchObject({ code: 'ROWS_HIDDEN', retryable: false })
    const error = await stopped(Stepper.open(as()))
    expect(error).toMatchObject({ code: 'ROWS_HIDDEN', retryable: false })
    await outbox.admin.query(sqlOf(error, 1))
    await source.open()
    expect(texts(await source.rest())).toEqual(['hidden'])
    await outbox.admin.query('alter table outrider.outbox enable row level security')
    await outbox.admin.query(sqlOf(error).replace('<relay role>', role))
    await source.open()
    await outbox.insert('hidden too')
    await outbox.insert('hidden')
    expect(await source.rest()).toHaveLength(2)
    await source.close()
  })

  test("a role's own defaults change nothing: isolation, read only, bytea output, zone", async () => {
    await outbox.admin.query(`
      alter role ${role} set default_transaction_isolation = 'serializable';
      alter role ${role} set default_transaction_read_only = on;
      alter role ${role} set bytea_output = 'escape';
      alter role ${role} set timezone = 'Asia/Tokyo';
      alter role ${role} set datestyle = 'German';
      alter table outrider.outbox alter column payload type bytea using payload::bytea;
      update outrider.outbox_meta set payload_type = 'bytea'`)
    await outbox.admin.query(`insert into outrider.outbox (aggregate_type, event_type, payload, created_at)
      values ('thing', 'Happened', '\\x00ff5c', '2026-03-04 05:06:07.89+00')`)
    const source = await Stepper.open(as())
    const [message] = await source.rest()
    expect(message).toMatchObject({ createdAt: '2026-03-04T05:06:07.890000Z' })
    expect(Buffer.from(message!.payload!)).toEqual(Buffer.from([0x00, 0xff, 0x5c]))
    await source.close()
  })
})
