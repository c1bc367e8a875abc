// The packed tarball, as `npm publish` would send it.
import { execFileSync, spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createFolder, removeFolder } from '../servers/folder.ts'

const root = fileURLToPath(new URL('../', import.meta.url))

export interface Tarball {
  readonly path: string
  remove(): void
}

/** Builds and packs. Throws with the compiler's words when the sources don't compile. */
export function packTarball(): Tarball {
  const built = spawnSync(process.execPath, ['scripts/build.ts'], { cwd: root, encoding: 'utf8' })
  if (built.status !== 0) throw new Error(`The build failed:\n${built.stdout}${built.stderr}`)
  const folder = createFolder('package')
  const [command, ...args] = npmCommand()
  execFileSync(command, [...args, 'pack', '--ignore-scripts', '--pack-destination', folder], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const file = readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? ''
  return { path: join(folder, file), remove: () => removeFolder(folder) }
}

/** npm, as a program and its first arguments: the one that runs this script, if one does. */
export const npmCommand = (): [string, ...string[]] =>
  process.env.npm_execpath === undefined ? ['npm'] : [process.execPath, process.env.npm_execpath]
