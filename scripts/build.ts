// Compiles src into dist, which is made anew each time: a deleted source leaves nothing to be packed.
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../', import.meta.url))
rmSync(`${root}dist`, { recursive: true, force: true })
const tsc = `${root}node_modules/typescript/bin/tsc`
process.exitCode = spawnSync(process.execPath, [tsc, '-p', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' }).status ?? 1
