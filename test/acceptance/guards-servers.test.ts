// Guards against the place itself: a standby, a clone, a pooler, a subscription, an encoding.
import { afterEach, expect, test } from 'vitest'
import { startPgBouncer } from '../../servers/pgbouncer.ts'
import { startPostgres } from '../../servers/postgres.ts'
import { startStandby } from '../../servers/standby.ts'
import { describePostgres } from '../setup/index.ts'
import { sqlOf, stopped } from './guards-error.ts'
import { connect, createOutbox, eventually, insert, Stepper, texts } from './source-driver.ts'

const databaseOf = (url: string, name: string): string => {
  const other = new URL(url)
  other.pathname = `/${name}`
  return other.href
}

describePostgres('the guards against the place', () => {
  const ends: (() => Promise<unknown>)[] = []
  const atEnd = <T extends { close(): Promise<unknown> }>(closable: T): T => {
    ends.push(() => closable.close())
    return closable
  }
  afterEach(async () => {
    for (const end of ends.splice(0).toReversed()) await end()
  })

  test('a standby: SOURCE_IS_STANDBY until it is promoted', { timeout: 60_000 }, async () => {
    await using primary = await startPostgres()
    const outbox = await createOutbox({ url: primary.url })
    await outbox.insert('before')
    await outbox.close()
    await using standby = await startStandby(primary)
    const error = await stopped(Stepper.open({ url: standby.url }))
    expect(error).toMatchObject({ code: 'SOURCE_IS_STANDBY', retryable: true })
    const admin = await connect(standby.url)
    await admin.query('select pg_promote()')
    await admin.end()
    const source = await Stepper.open({ url: standby.url })
    expect(texts(await source.rest())).toEqual(['before'])
    await source.close()
  })

  test('a TEMPLATE clone: IDENTITY_CHANGED until somebody accepts it, and then under no fence of the original', async () => {
    const original = atEnd(await createOutbox())
    const source = await Stepper.open(original)
    await original.insert('delivered')
    await source.step()
    await source.source.storeFence(0, Buffer.from('the fence of the original'))
    await source.close()
    await original.insert('undelivered')
    const name = new URL(original.url).pathname.slice(1)
    const maintenance = await connect(databaseOf(original.url, 'postgres'))
    await original.admin.end()
    await eventually(
      'nobody uses the database',
      async () => (await maintenance.query('select from pg_stat_activity where datname = $1', [name])).rowCount === 0,
    )
    await maintenance.query(`create database ${name}_clone template ${name}`)
    ends.push(() => maintenance.end())
    ends.push(() => maintenance.query(`drop database ${name}_clone with (force)`))
    const url = databaseOf(original.url, `${name}_clone`)
    const error = await stopped(Stepper.open({ url }))
    expect(error).toMatchObject({ code: 'IDENTITY_CHANGED', retryable: false })
    const clone = await connect(url)
    await clone.query(sqlOf(error))
    await clone.end()
    const accepted = atEnd(await Stepper.open({ url }))
    expect(accepted.grants.map((g) => g.fence)).toEqual(Array(8).fill(null))
    expect(texts(await accepted.rest())).toEqual(['undelivered'])
  })

  test.each([1, 4])('PgBouncer in transaction mode with %i connections: SOURCE_IS_POOLED; writers may use it', async (poolSize) => {
    const outbox = atEnd(await createOutbox())
    const bouncer = atEnd(await startPgBouncer({ databaseUrl: outbox.url, poolSize }))
    expect(await stopped(Stepper.open({ url: bouncer.url }))).toMatchObject({ code: 'SOURCE_IS_POOLED', retryable: false })
    const writer = await connect(bouncer.url)
    await insert(writer, 'through the pooler')
    await writer.end()
    const source = atEnd(await Stepper.open(outbox))
    expect(texts(await source.rest())).toEqual(['through the pooler'])
  })

  test('PgBouncer in session mode is a connection like any other', async () => {
    const outbox = atEnd(await createOutbox())
    const bouncer = atEnd(await startPgBouncer({ databaseUrl: outbox.url, poolMode: 'session' }))
    const source = atEnd(await Stepper.open({ url: bouncer.url }))
    await outbox.insert('one')
    expect(texts(await source.rest())).toEqual(['one'])
  })

  test('a subscription that fills the table: TABLE_SUBSCRIBED', async () => {
    const publisher = atEnd(await createOutbox())
    await publisher.admin.query('create publication everything for table outrider.outbox')
    await publisher.admin.query(`select pg_create_logical_replication_slot('guards_${process.pid}', 'pgoutput')`)
    ends.push(() => publisher.admin.query(`select pg_drop_replication_slot('guards_${process.pid}')`))
    const outbox = atEnd(await createOutbox())
    const { hostname, port, username, password, pathname } = new URL(publisher.url)
    await outbox.admin.query(
      `create subscription copy_of_it connection 'host=${hostname} port=${port} user=${username} password=${password} dbname=${pathname.slice(1)}'
         publication everything with (create_slot = false, slot_name = 'guards_${process.pid}', copy_data = false, enabled = false)`,
    )
    const error = await stopped(Stepper.open(outbox))
    expect(error).toMatchObject({ code: 'TABLE_SUBSCRIBED', retryable: false })
    await outbox.admin.query('alter subscription copy_of_it set (slot_name = none)')
    await outbox.admin.query('drop subscription copy_of_it')
    await (await Stepper.open(outbox)).close()
  })

  test('a database in SQL_ASCII: SOURCE_ENCODING', async () => {
    const outbox = atEnd(await createOutbox())
    const name = `ascii_${process.pid}`
    await outbox.admin.query(`create database ${name} encoding 'SQL_ASCII' locale_provider libc locale 'C' template template0`)
    ends.push(() => outbox.admin.query(`drop database ${name} with (force)`))
    const url = databaseOf(outbox.url, name)
    const ascii = await createOutbox({ url })
    await ascii.close()
    expect(await stopped(Stepper.open({ url }))).toMatchObject({ code: 'SOURCE_ENCODING', retryable: false })
  })
})
