// Compiles src into dist, which is made anew each time: a deleted source leaves nothing to be packed.
// The new folder takes the old one's place at once, so that two builds, or a build and a pack, don't meet in it.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../', import.meta.url))
const dist = `${root}dist`
const work = `${root}.cache/build-${process.pid}`
mkdirSync(work, { recursive: true })
try {
  const tsc = [`${root}node_modules/typescript/bin/tsc`, '-p', 'tsconfig.build.json', '--outDir', `${work}/new`]
  const { status } = spawnSync(process.execPath, tsc, { cwd: root, stdio: 'inherit' })
  process.exitCode = status ?? 1
  if (status === 0) {
    if (existsSync(dist)) renameSync(dist, `${work}/old`)
    renameSync(`${work}/new`, dist)
  }
} finally {
  rmSync(work, { recursive: true, force: true })
}
