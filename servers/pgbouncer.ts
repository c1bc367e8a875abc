// PgBouncer in front of a PostgreSQL: what a relay must notice and refuse, and what writers must work through.
import { spawnSync } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { createFolder, removeFolder } from './folder.ts'
import { freePort } from './port.ts'
import { serverUser } from './postgres-files.ts'
import { launch, until } from './process.ts'

export interface PgBouncerOptions {
  /** Of the PostgreSQL behind it. */
  readonly databaseUrl: string
  /** @default 'transaction' */
  readonly poolMode?: 'session' | 'transaction' | 'statement'
  /** Most connections to PostgreSQL. @default 4 */
  readonly poolSize?: number
}

export interface PgBouncer {
  /** The same database as `databaseUrl`, through the pooler. */
  readonly url: string
  readonly port: number
  readonly pid: number
  /** Idempotent. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Starts PgBouncer; installs Debian's package first when it is missing and this is root. */
export async function startPgBouncer(options: PgBouncerOptions): Promise<PgBouncer> {
  const command = pgbouncer()
  const user = serverUser()
  const port = await freePort()
  const folder = createFolder('pgbouncer')
  const dir = join(folder, 'pgbouncer')
  mkdirSync(dir)
  const config = join(dir, 'pgbouncer.ini')
  writeFileSync(config, configOf(options, port))
  if (user !== undefined) for (const path of [dir, config]) chownSync(path, user.uid, user.gid)
  const log = join(folder, 'server.log')
  const server = launch({ command, args: [config], log, user, cwd: dir })
  let closed = false
  const close = async (): Promise<void> => {
    if (closed) return
    closed = true
    await server.end('SIGTERM', 5_000)
    removeFolder(folder)
  }
  const url = new URL(options.databaseUrl)
  url.host = `127.0.0.1:${port}`
  try {
    await until('PgBouncer', () => answers(url.href), { server, log })
  } catch (error) {
    await close()
    throw error
  }
  return { url: url.href, port, pid: server.pid, close, [Symbol.asyncDispose]: close }
}

function configOf({ databaseUrl, poolMode = 'transaction', poolSize = 4 }: PgBouncerOptions, port: number): string {
  const { hostname, port: serverPort, username, password } = new URL(databaseUrl)
  return `[databases]
* = host=${hostname} port=${serverPort} user=${decodeURIComponent(username)} password=${decodeURIComponent(password)}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${poolMode}
default_pool_size = ${poolSize}
max_client_conn = 200
ignore_startup_parameters = extra_float_digits
`
}

const PLACES = ['/usr/sbin/pgbouncer', '/usr/local/bin/pgbouncer', '/opt/homebrew/bin/pgbouncer']
const installedAt = (): string | undefined => PLACES.find((path) => existsSync(path))

function pgbouncer(): string {
  const here = installedAt()
  if (here !== undefined) return here
  if (process.getuid?.() === 0) {
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
    for (const args of [
      ['update', '-qq'],
      ['install', '-y', '-qq', '--no-install-recommends', 'pgbouncer'],
    ]) {
      spawnSync('apt-get', ['-o', 'DPkg::Lock::Timeout=120', ...args], { env, stdio: 'ignore' })
    }
  }
  const installed = installedAt()
  if (installed === undefined) throw new Error('There is no PgBouncer here, and apt-get could not install it.')
  return installed
}

async function answers(url: string): Promise<true> {
  const client = new Client({ connectionString: url })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('select 1')
    return true
  } finally {
    await client.end().catch(() => {})
  }
}
