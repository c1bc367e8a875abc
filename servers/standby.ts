// A streaming standby, for what a relay must refuse and for fail-over.
import { Client } from 'pg'
import { startPostgres, type PostgresOptions, type PostgresServer } from './postgres.ts'
import { until } from './process.ts'

/**
 * A streaming standby of `primary`, made of a copy of its data folder: the primary is restarted for it.
 * Returns when it receives the primary's changes. Promote it with `select pg_promote()`.
 */
export async function startStandby(primary: PostgresServer, options: PostgresOptions = {}): Promise<PostgresServer> {
  const { hostname, port, username, password } = new URL(primary.url)
  const conninfo = `host=${hostname} port=${port} user=${username} password=${password}`
  await primary.stop()
  const files = {
    ...options.files,
    'standby.signal': '',
    'postgresql.auto.conf': `\nprimary_conninfo = '${conninfo}'\nwal_retrieve_retry_interval = 100\n`,
  }
  const standby = await afterwards(startPostgres({ ...options, copyOf: primary.dataDir, files }), () => primary.start())
  await until('The standby receives', () => receives(standby.url), { log: standby.log })
  return standby
}

async function receives(url: string): Promise<true | undefined> {
  const client = new Client({ connectionString: url })
  client.on('error', () => {})
  try {
    await client.connect()
    const { rows } = await client.query<{ status: string }>('select status from pg_stat_wal_receiver')
    return rows[0]?.status === 'streaming' ? true : undefined
  } finally {
    await client.end().catch(() => {})
  }
}

async function afterwards<T>(first: Promise<T>, then: () => Promise<void>): Promise<T> {
  try {
    return await first
  } finally {
    await then()
  }
}
