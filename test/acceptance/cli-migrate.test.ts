import { tmpdir } from 'node:os'
import { Client } from 'pg'
import { afterAll, expect, it, vi } from 'vitest'
import { freePort } from '../../servers/port.ts'
import { createTestDatabase, describePostgres } from '../setup/index.ts'
import { endCliProcesses, runCli } from './cli-process.ts'

// Each case starts several processes, and a busy machine takes its time for each.
vi.setConfig({ testTimeout: 90_000 })

const cwd = tmpdir()
afterAll(endCliProcesses)

async function query<R>(url: string, sql: string): Promise<R[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(sql)).rows as R[]
  } finally {
    await client.end()
  }
}
const tables = async (url: string, schema: string) =>
  (
    await query<{ name: string }>(
      url,
      `select table_name as name from information_schema.tables where table_schema = '${schema}' order by 1`,
    )
  ).map((r) => r.name)

describePostgres('outrider migrate', () => {
  it('creates the outbox, then finds nothing to do', async () => {
    const { url } = await createTestDatabase()
    const first = await runCli(['migrate'], { cwd, env: { DATABASE_URL: url } })
    expect(first).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringMatching(/^The outbox "outrider"."outbox" was created at layout \d+\.\n$/),
    })
    expect(await tables(url, 'outrider')).toEqual(expect.arrayContaining(['inbox', 'outbox', 'outbox_position']))
    const second = await runCli(['migrate', '--json'], { cwd, env: { DATABASE_URL: url } })
    const { from, to } = JSON.parse(second.stdout) as { from: number; to: number }
    expect([second.code, from]).toEqual([0, to])
  })

  it('two at once are safe, and only one creates it', async () => {
    const { url } = await createTestDatabase()
    const both = await Promise.all([1, 2].map(() => runCli(['migrate', '--json'], { cwd, env: { DATABASE_URL: url } })))
    expect(both.map((r) => r.code)).toEqual([0, 0])
    expect(both.filter((r) => (JSON.parse(r.stdout) as { from: number }).from === 0)).toHaveLength(1)
  })

  it('takes names, lanes and payload', async () => {
    const { url } = await createTestDatabase()
    const words = ['migrate', '--schema', 'shop "x"', '--table', 'events', '--inbox', 'seen', '--lanes', '3', '--payload', 'bytea']
    expect((await runCli(words, { cwd, env: { DATABASE_URL: url } })).code).toBe(0)
    expect(await tables(url, 'shop "x"')).toEqual(expect.arrayContaining(['events', 'events_position', 'seen']))
    expect(await query(url, `select count(*)::int as lanes from "shop ""x""".events_position`)).toEqual([{ lanes: 3 }])
    expect(
      await query(url, `select data_type from information_schema.columns where table_name = 'events' and column_name = 'payload'`),
    ).toEqual([{ data_type: 'bytea' }])
  })

  it('what --print prints does the same by hand', async () => {
    const [one, two] = [await createTestDatabase(), await createTestDatabase()]
    const printed = await runCli(['migrate', '--print', '--lanes', '5'], { cwd })
    expect(printed).toMatchObject({ code: 0, stderr: '' })
    await query(one.url, `begin; ${printed.stdout}; commit`)
    await runCli(['migrate', '--lanes', '5'], { cwd, env: { DATABASE_URL: two.url } })
    const shape = `select table_name, column_name, data_type, column_default from information_schema.columns where table_schema = 'outrider' order by 1, 2`
    expect(await query(one.url, shape)).toEqual(await query(two.url, shape))
    const after = await runCli(['migrate', '--json'], { cwd, env: { DATABASE_URL: one.url } })
    const { from, to } = JSON.parse(after.stdout) as { from: number; to: number }
    expect(from).toBe(to)
  })

  it('ends with 3 when nobody listens, and never shows the password', async () => {
    const port = await freePort()
    const { code, stdout, stderr } = await runCli(['migrate', '--json'], {
      cwd,
      env: { DATABASE_URL: `postgres://app:hunter2@127.0.0.1:${port}/shop` },
    })
    expect(code).toBe(3)
    expect(stderr).toMatch(new RegExp(`^SOURCE_UNREACHABLE  PostgreSQL at 127.0.0.1:${port}/shop can't be reached: connect ECONNREFUSED`))
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'SOURCE_UNREACHABLE', hint: expect.stringContaining('DATABASE_URL') } })
    expect(stdout + stderr).not.toContain('hunter2')
  })

  it('ends with 2 when the database is not there or the role has no right, and changes nothing', async () => {
    const { url, name } = await createTestDatabase()
    const elsewhere = new URL(url)
    elsewhere.pathname = '/not_there'
    expect(await runCli(['migrate'], { cwd, env: { DATABASE_URL: elsewhere.href } })).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^SOURCE_FORBIDDEN .*not_there/),
    })

    const role = `${name}_guest`
    await query(url, `create role ${role} login password 'guest-password'`)
    try {
      const guest = new URL(url)
      guest.username = role
      guest.password = 'guest-password'
      const { code, stdout, stderr } = await runCli(['migrate'], { cwd, env: { DATABASE_URL: guest.href } })
      expect([code, stdout]).toEqual([2, ''])
      expect(stderr).toMatch(/^SOURCE_FORBIDDEN .*permission denied.*Nothing was changed/)
      expect(stderr).not.toContain('guest-password')
      expect(await tables(url, 'outrider')).toEqual([])
    } finally {
      await query(url, `drop owned by ${role}; drop role ${role}`)
    }
  })

  it('reads the address from the file that DATABASE_URL_FILE names', async () => {
    const { url } = await createTestDatabase()
    const { mkdtemp, rm, writeFile } = await import('node:fs/promises')
    const folder = await mkdtemp(`${tmpdir()}/outrider-cli-`)
    try {
      await writeFile(`${folder}/url`, `${url}\n`)
      expect((await runCli(['migrate'], { cwd, env: { DATABASE_URL_FILE: `${folder}/url` } })).code).toBe(0)
    } finally {
      await rm(folder, { recursive: true })
    }
  })
})
