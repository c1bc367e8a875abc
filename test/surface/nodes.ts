// The versions of Node that users run, beside the one that runs the tests.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cached } from '../../servers/cache.ts'
import { npmCommand } from '../../scripts/package.ts'

const run = promisify(execFile)
const OLDEST = '22.23.5'

/** The path of a Node 22, fetched from npm once; or why it can't be had. */
export async function oldestNode(): Promise<{ path: string } | { missing: string }> {
  if (process.platform !== 'linux') return { missing: `npm has a Node ${OLDEST} of this shape for Linux only` }
  const name = `node-linux-${process.arch}`
  try {
    const folder = await cached(`node-${OLDEST}-${process.arch}`, async (dir) => {
      const [command, ...args] = npmCommand()
      const flags = ['install', '--prefix', dir, '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
      await run(command, [...args, ...flags, `${name}@${OLDEST}`], { cwd: dir })
    })
    return { path: join(folder, 'node_modules', name, 'bin', 'node') }
  } catch (error) {
    return { missing: `Node ${OLDEST} could not be fetched: ${(error as Error).message}` }
  }
}
