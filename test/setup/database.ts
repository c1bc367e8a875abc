import { Client } from 'pg'
import { addressesOf } from './servers.ts'

export interface TestDatabase {
  readonly name: string
  /** Of a superuser, in this database. */
  readonly url: string
  /** Cuts its sessions and drops it. Idempotent; happens by itself at the end of the test file. */
  drop(): Promise<void>
}

export interface TestDatabaseOptions {
  /** An ICU locale such as `en-US`, where texts don't sort by their bytes. @default the builtin C.UTF-8 */
  readonly icuLocale?: string
}

const open = new Set<TestDatabase>()

/** A database of one's own in the run's real PostgreSQL. */
export async function createTestDatabase(options: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const [server = ''] = await addressesOf('postgres')
  const name = `test_${process.pid}_${Math.random().toString(36).slice(2, 10)}`
  const locale = options.icuLocale === undefined ? '' : ` template template0 locale_provider icu icu_locale '${options.icuLocale}'`
  await execute(server, `create database ${name}${locale}`)
  const url = new URL(server)
  url.pathname = `/${name}`
  const database: TestDatabase = {
    name,
    url: url.href,
    async drop() {
      if (!open.delete(database)) return
      await whenLeft(server, name)
      await execute(server, `drop database if exists ${name} with (force)`)
    },
  }
  open.add(database)
  return database
}

export async function dropTestDatabases(): Promise<void> {
  await Promise.all([...open].map((database) => database.drop()))
}

/** Sessions that have just said goodbye may not be gone yet; cut, they would tell it as an error that nobody listens to any more. */
async function whenLeft(server: string, name: string): Promise<void> {
  const lastLookMs = Date.now() + 1_000
  const sessions = `select 1 from pg_stat_activity where datname = '${name}' and backend_type = 'client backend'`
  while ((await execute(server, sessions)) > 0 && Date.now() < lastLookMs) await new Promise((resolve) => setTimeout(resolve, 20))
}

async function execute(url: string, sql: string): Promise<number> {
  const client = new Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(sql)).rowCount ?? 0
  } finally {
    await client.end()
  }
}
