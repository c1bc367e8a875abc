// What is costly to get (a server's jars, an initialised data folder) is made once and kept between runs.
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { isAlive } from './process.ts'

/** The folder that lasts between runs: `OUTRIDER_CACHE`, else `XDG_CACHE_HOME`/outrider, else ~/.cache/outrider. */
export const cacheDir = (): string =>
  join(process.env.OUTRIDER_CACHE ?? process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'outrider')

const exists = async (path: string): Promise<boolean> =>
  await stat(path).then(
    () => true,
    () => false,
  )

/**
 * Gives the folder `name` of the cache; makes it with `build` when it isn't there yet.
 * It appears by one rename, so two runs at once never see half of it; the slower one drops its own.
 */
export async function cached(name: string, build: (dir: string) => Promise<void>): Promise<string> {
  const parent = cacheDir()
  const wanted = join(parent, name)
  if (await exists(wanted)) return wanted
  await mkdir(parent, { recursive: true })
  await dropAbandoned(parent)
  const part = join(parent, `${name}.${process.pid}-${Math.random().toString(36).slice(2, 8)}.part`)
  await mkdir(part)
  try {
    await build(part)
    await rename(part, wanted)
  } catch (error) {
    await rm(part, { recursive: true, force: true })
    if (!(await exists(wanted))) throw error
  }
  return wanted
}

async function dropAbandoned(parent: string): Promise<void> {
  for (const entry of await readdir(parent)) {
    const pid = /\.(\d+)-[a-z0-9]+\.part$/.exec(entry)?.[1]
    if (pid !== undefined && !isAlive(Number(pid))) await rm(join(parent, entry), { recursive: true, force: true })
  }
}
