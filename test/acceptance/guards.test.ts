// What makes a missing number say nothing stops the source with an error of its own, before anything is handed out;
// and what its hint says mends it.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { describePostgres } from '../setup/index.ts'
import { sqlOf, stopped } from './guards-error.ts'
import { copyFrom } from './source-copy.ts'
import { createOutbox, Stepper, texts, type Outbox } from './source-driver.ts'

describePostgres('the guards of the log source', () => {
  let outbox: Outbox
  let source: Stepper
  const readOn = async (expected: string[]) => {
    await source.close()
    source = await Stepper.open(outbox)
    expect(texts(await source.rest())).toEqual(expected)
  }

  beforeEach(async () => {
    outbox = await createOutbox()
    source = await Stepper.open(outbox)
    await outbox.insert('before', 'k')
    expect(texts(await source.step())).toEqual(['before'])
  })
  afterEach(async () => {
    await source.close()
    await outbox.close()
  })

  test('a number that a COPY chose: SEQUENCE_BYPASSED', async () => {
    await copyFrom(
      outbox.admin,
      'copy outrider.outbox (seq, aggregate_type, aggregate_id, event_type, payload) from stdin',
      '1000\tthing\tk\tHappened\tcopied\n',
    )
    const error = await stopped(source.step())
    expect(error).toMatchObject({ code: 'SEQUENCE_BYPASSED', retryable: false })
    expect(error.message).toContain('1000')
    await outbox.admin.query(sqlOf(error))
    await outbox.insert('after', 'k')
    await readOn(['copied', 'after'])
  })

  test('a number chosen by OVERRIDING SYSTEM VALUE: SEQUENCE_BYPASSED, and nothing of that look is handed out', async () => {
    await outbox.insert('fine', 'k')
    await outbox.admin.query(
      `insert into outrider.outbox (seq, aggregate_type, aggregate_id, event_type, payload) overriding system value values (9, 'thing', 'k', 'Happened', 'chosen')`,
    )
    expect(await stopped(source.step())).toMatchObject({ code: 'SEQUENCE_BYPASSED' })
    expect(source.texts).toEqual(['before'])
  })

  test('the cache changed while it runs: SEQUENCE_RESET; at the start: SEQUENCE_CACHED', async () => {
    await outbox.admin.query('alter sequence outrider.outbox_seq_seq cache 10')
    expect(await stopped(source.step())).toMatchObject({ code: 'SEQUENCE_RESET', retryable: false })
    const atStart = await stopped(Stepper.open(outbox))
    expect(atStart).toMatchObject({ code: 'SEQUENCE_CACHED', retryable: false })
    await outbox.insert('while cached', 'k')
    await outbox.admin.query('discard sequences')
    for (const sql of sqlOf(atStart).split('; then, when all writers have reconnected: ')) await outbox.admin.query(sql)
    await outbox.insert('after', 'k')
    await readOn(['while cached', 'after'])
  })

  test('another increment at the start: SEQUENCE_CACHED', async () => {
    await outbox.admin.query('alter sequence outrider.outbox_seq_seq increment 2')
    expect(await stopped(Stepper.open(outbox))).toMatchObject({ code: 'SEQUENCE_CACHED' })
  })

  test('TRUNCATE RESTART IDENTITY and 150 new rows between two looks: SEQUENCE_RESET, and by the hint all 150 are delivered', async () => {
    for (let i = 0; i < 100; i++) await outbox.insert(`old ${i}`, 'k')
    await source.rest()
    await outbox.admin.query('truncate outrider.outbox restart identity')
    const fresh = Array.from({ length: 150 }, (_, i) => `new ${i}`)
    for (const payload of fresh) await outbox.insert(payload, 'k')
    const error = await stopped(source.step())
    expect(error).toMatchObject({ code: 'SEQUENCE_RESET', retryable: false })
    expect(source.texts).not.toContain('new 149')
    const atStart = await stopped(Stepper.open(outbox))
    expect(atStart).toMatchObject({ code: 'IDENTITY_CHANGED', retryable: false })
    await outbox.admin.query(sqlOf(atStart))
    await readOn(fresh)
  })

  test('the sequence set back, seen while it is below what was last seen: SEQUENCE_RESET', async () => {
    for (let i = 0; i < 5; i++) await outbox.insert(`old ${i}`, 'k')
    await source.rest()
    await source.step(1_500)
    await outbox.admin.query(`select setval('outrider.outbox_seq_seq', 2)`)
    expect(await stopped(source.step())).toMatchObject({ code: 'SEQUENCE_RESET', retryable: false })
    const atStart = await stopped(Stepper.open(outbox))
    expect(atStart).toMatchObject({ code: 'SEQUENCE_RESET' })
    await outbox.admin.query(sqlOf(atStart))
    await outbox.insert('after', 'k')
    await readOn(['after'])
  })

  test('the sequence set back while no relay runs: the other way of the hint delivers every row once more', async () => {
    for (let i = 0; i < 3; i++) await outbox.insert(`old ${i}`, 'k')
    await source.rest()
    await source.step(1_500)
    await source.close()
    await outbox.admin.query(`delete from outrider.outbox; select setval('outrider.outbox_seq_seq', 1)`)
    await outbox.insert('new', 'k')
    const error = await stopped(Stepper.open(outbox))
    expect(error).toMatchObject({ code: 'SEQUENCE_RESET' })
    await outbox.admin.query(sqlOf(error, 1))
    await readOn(['new'])
  })

  test('GENERATED BY DEFAULT: SEQUENCE_NOT_ALWAYS', async () => {
    await outbox.admin.query('alter table outrider.outbox alter column seq set generated by default')
    const error = await stopped(Stepper.open(outbox))
    expect(error).toMatchObject({ code: 'SEQUENCE_NOT_ALWAYS', retryable: false })
    await outbox.admin.query(sqlOf(error))
    await outbox.insert('after', 'k')
    await readOn(['after'])
  })

  test('no outbox in this database: SCHEMA_MISSING', async () => {
    await outbox.admin.query('drop schema outrider cascade')
    expect(await stopped(Stepper.open(outbox))).toMatchObject({ code: 'SCHEMA_MISSING', retryable: false })
  })

  test('the outbox dropped while it runs: SCHEMA_MISSING', async () => {
    await outbox.admin.query('drop schema outrider cascade')
    expect(await stopped(source.step())).toMatchObject({ code: 'SCHEMA_MISSING', retryable: false })
  })

  test('an older layout: SCHEMA_OUTDATED; one that is two ahead: SCHEMA_TOO_NEW; the next one is read', async () => {
    await outbox.admin.query('update outrider.outbox_meta set schema_version = schema_version - 1')
    expect(await stopped(Stepper.open(outbox))).toMatchObject({ code: 'SCHEMA_OUTDATED', retryable: false })
    await outbox.admin.query('update outrider.outbox_meta set schema_version = schema_version + 2')
    await readOn([])
    await outbox.admin.query('update outrider.outbox_meta set schema_version = schema_version + 1')
    expect(await stopped(Stepper.open(outbox))).toMatchObject({ code: 'SCHEMA_TOO_NEW', retryable: false })
  })

  test('an empty meta table: SCHEMA_MISSING', async () => {
    await outbox.admin.query('delete from outrider.outbox_meta')
    expect(await stopped(Stepper.open(outbox))).toMatchObject({ code: 'SCHEMA_MISSING', retryable: false })
  })

  test('a backend that changes under the session would be a pooler: nothing is handed out', async () => {
    await outbox.insert('after', 'k')
    const [first] = (
      await outbox.admin.query<{ pid: number }>(
        `select pid from pg_stat_activity where application_name = 'outrider relay (reading)' and datname = current_database()`,
      )
    ).rows
    expect(first).toBeDefined()
    await outbox.admin.query('select pg_terminate_backend($1)', [first!.pid])
    expect(await stopped(source.step())).toMatchObject({ code: 'SOURCE_LOST', retryable: true })
    await readOn(['after'])
  })
})
