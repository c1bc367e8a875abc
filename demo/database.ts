import { Client } from 'pg'
import { migrate } from '../src/databases/postgres/index.ts'
import { startPostgres } from '../servers/postgres.ts'
import { addClients, createDatabase, createTables, dropDatabase, serverVersion } from './queries.ts'

export interface DemoDatabase {
  readonly url: string
  readonly version: string
  /** Idempotent. */
  close(): Promise<void>
}

/** A PostgreSQL of the demo's own, or a database of its own on the server that OUTRIDER_TEST_DATABASE_URL names. */
export async function startDatabase(given = process.env['OUTRIDER_TEST_DATABASE_URL']): Promise<DemoDatabase> {
  if (given === undefined) {
    const server = await startPostgres()
    return { url: server.url, version: await versionOf(server.url), close: () => server.close() }
  }
  const name = `outrider_demo_${process.pid}_${Date.now()}`
  await withClient(given, (client) => client.query(createDatabase(name)))
  const url = new URL(given)
  url.pathname = `/${name}`
  return {
    url: url.href,
    version: await versionOf(given),
    close: () => withClient(given, async (client) => void (await client.query(dropDatabase(name)))),
  }
}

/** The shops' tables, and Outrider's beside them by its own migrations. */
export async function prepareDatabase(url: string, clients: readonly string[]): Promise<void> {
  await withClient(url, async (client) => {
    await client.query(createTables)
    await client.query(addClients('outrider'), [clients])
    await client.query(addClients('naive'), [clients])
    await migrate(client)
  })
}

export async function withClient<T>(url: string, act: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  try {
    return await act(client)
  } finally {
    await client.end().catch(() => undefined)
  }
}

const versionOf = (url: string): Promise<string> =>
  withClient(url, async (client) => (await client.query<{ version: string }>(serverVersion)).rows[0]?.version ?? '?')
