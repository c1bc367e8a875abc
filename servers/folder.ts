// Every server's data lies in a private folder under the system's temporary folder, named after the process that owns it.
// It goes when the server is closed, at the latest with its owner; folders of owners that were killed go at the next start.
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { endAllNow, isAlive, pauseNow, startedAt } from './process.ts'

const PREFIX = 'outrider-'
const owned = new Set<string>()
let guarded = false

/** A new private folder. Other users may pass through it (a server of root runs as another user), not list it. */
export function createFolder(kind: string): string {
  guard()
  const path = mkdtempSync(join(tmpdir(), `${PREFIX}${process.pid}-${kind}-`))
  chmodSync(path, 0o711)
  const owner: Owner = { startedAt: startedAt(process.pid), run: process.env.OUTRIDER_TEST_RUN ?? '' }
  writeFileSync(join(path, 'owner.json'), JSON.stringify(owner))
  owned.add(path)
  return path
}

export function removeFolder(path: string): void {
  owned.delete(path)
  // A server that is just ending may still write; and rmSync may give up on such a folder without an error.
  for (let attempt = 0; attempt < 20 && existsSync(path); attempt++) {
    if (attempt > 0) pauseNow(50)
    removeOnce(path)
  }
}

function removeOnce(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true })
  } catch (error) {
    if (!['ENOTEMPTY', 'EBUSY', 'EPERM'].includes(String((error as NodeJS.ErrnoException).code))) throw error
  }
}

interface Owner {
  /** Of the process, because its number is given to another one some day. */
  readonly startedAt: string
  /** The test run that it belongs to, if any. */
  readonly run: string
}

/** Removes the folders whose owner is dead. Returns those that belonged to the test run `run`. */
export function sweepFolders(run?: string): string[] {
  return foldersLeft().filter((path) => {
    const pid = Number(new RegExp(`${PREFIX}(\\d+)-`).exec(path)?.[1])
    const owner = readOwner(path)
    // A folder that has just been made has no note of its owner yet.
    if (isAlive(pid) && (owner === null || startedAt(pid) === owner.startedAt)) return false
    removeFolder(path)
    return owner !== null && owner.run === run
  })
}

const foldersLeft = (): string[] =>
  readdirSync(tmpdir())
    .filter((name) => new RegExp(`^${PREFIX}\\d+-[a-z]+-`).test(name))
    .map((name) => join(tmpdir(), name))

function readOwner(path: string): Owner | null {
  try {
    return JSON.parse(readFileSync(join(path, 'owner.json'), 'utf8')) as Owner
  } catch {
    return null
  }
}

function clean(): void {
  endAllNow()
  for (const path of owned) removeFolder(path)
}

function guard(): void {
  if (guarded) return
  guarded = true
  sweepFolders()
  process.once('exit', clean)
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    const onSignal = (): void => {
      process.off(name, onSignal)
      // Someone else answers this signal and will end the process in their own way.
      if (process.listenerCount(name) > 0) return
      clean()
      process.kill(process.pid, name)
    }
    process.on(name, onSignal)
  }
}
