// The launcher keeps its word: what the crash tests build on.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { Client } from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { isAlive } from '../../servers/process.ts'
import { startPgBouncer } from '../../servers/pgbouncer.ts'
import { startPostgres } from '../../servers/postgres.ts'
import { startStandby } from '../../servers/standby.ts'
import { createTestDatabase, createTestTopic, describeLine, describePostgres, kafkaBrokers } from '../setup/index.ts'

async function ask(url: string, sql: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows.map((row) => Object.values(row)[0])
  } finally {
    await client.end()
  }
}

const session = async (client: Client): Promise<unknown> => (await client.query('select pg_backend_pid()')).rows[0]

describeLine("the run's own servers", () => {
  test('a test database is its own, and is gone after drop', async () => {
    const [one, two] = [await createTestDatabase(), await createTestDatabase({ icuLocale: 'en-US' })]
    await ask(one.url, 'create table t (a text)')
    expect(await ask(one.url, `select to_regclass('t') is not null`)).toEqual([true])
    expect(await ask(two.url, `select to_regclass('t') is not null`)).toEqual([false])
    expect(await ask(two.url, `select 'a' < 'B'`), 'texts of an ICU database do not sort by their bytes').toEqual([true])
    expect(await ask(one.url, `select 'a' < 'B'`)).toEqual([false])
    await one.drop()
    await expect(ask(one.url, 'select 1')).rejects.toThrow(/does not exist/)
    await one.drop()
  })

  test('behind a transaction pooler two transactions of one client may meet two sessions', async () => {
    const { url } = await createTestDatabase()
    await using pooler = await startPgBouncer({ databaseUrl: url })
    const clients = [new Client({ connectionString: pooler.url }), new Client({ connectionString: pooler.url })]
    const [one, two] = clients as [Client, Client]
    try {
      await Promise.all([one.connect(), two.connect()])
      const before = await session(one)
      await two.query('begin')
      await session(two)
      expect(await session(one)).not.toEqual(before)
      await two.query('rollback')
    } finally {
      await Promise.all(clients.map((client) => client.end()))
    }
  })

  test('a test topic takes records as soon as it is there', async () => {
    const topic = await createTestTopic({ partitions: 3, configs: { 'retention.ms': '60000' } })
    expect(topic).toMatch(/^test-/)
    expect(await kafkaBrokers()).toHaveLength(1)
  })
})

describePostgres('a PostgreSQL of its own', () => {
  const closing: (() => Promise<void>)[] = []
  afterAll(async () => {
    await Promise.all(closing.map((close) => close()))
  })

  test('a committed row survives SIGKILL, and a restart keeps the port', async () => {
    const server = await startPostgres()
    closing.push(() => server.close())
    await ask(server.url, 'create table t as select 7 as n')
    const before = server.pid
    await server.kill()
    expect(isAlive(before)).toBe(false)
    await server.start()
    expect(server.pid).not.toBe(before)
    expect(await ask(server.url, 'select n from t')).toEqual([7])
    expect(await ask(server.url, `select setting from pg_settings where name in ('fsync', 'wal_level') order by name`)).toEqual([
      'on',
      'logical',
    ])
    await server.restart()
    expect(await ask(server.url, 'select n from t')).toEqual([7])
  })

  test('a standby follows its primary and refuses to write', async () => {
    const primary = await startPostgres()
    closing.push(() => primary.close())
    const standby = await startStandby(primary)
    closing.push(() => standby.close())
    await ask(primary.url, 'create table t as select 7 as n')
    expect(await ask(standby.url, 'select pg_is_in_recovery()')).toEqual([true])
    await expect.poll(() => ask(standby.url, `select to_regclass('t') is not null`), { timeout: 10_000 }).toEqual([true])
  })
})

describe('a run that is killed', () => {
  test.skipIf(process.platform !== 'linux')('leaves no server, and the next start removes its folder', async () => {
    const script = `
      const { startPostgres } = await import(${JSON.stringify(new URL('../../servers/postgres.ts', import.meta.url).href)})
      const server = await startPostgres()
      console.log(JSON.stringify({ pid: server.pid, dataDir: server.dataDir }))
      setInterval(() => {}, 1000)`
    const run = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
    const [line] = (await once(run.stdout, 'data')) as [Buffer]
    const { pid, dataDir } = JSON.parse(line.toString()) as { pid: number; dataDir: string }
    expect(isAlive(pid)).toBe(true)
    run.kill('SIGKILL')
    await once(run, 'exit')
    await expect.poll(() => isAlive(pid), { timeout: 10_000 }).toBe(false)
    expect(existsSync(dataDir)).toBe(true)
    const next = spawn(process.execPath, [
      '--input-type=module',
      '-e',
      script.replace('setInterval(() => {}, 1000)', 'await server.close()'),
    ])
    await once(next, 'exit')
    expect(existsSync(dataDir)).toBe(false)
  })
})
