import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

/**
 * The processes that a test run started and that are still there after a moment, each as `pid command`.
 * Everything that the run starts inherits its id, OUTRIDER_TEST_RUN, in the environment. Linux only; empty elsewhere.
 */
export async function processesLeft(runId: string, graceMs = 5_000): Promise<string[]> {
  const end = performance.now() + graceMs
  for (;;) {
    const left = find(runId)
    if (left.length === 0 || performance.now() > end) return left
    await delay(50)
  }
}

function find(runId: string): string[] {
  if (process.platform !== 'linux') return []
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((pid) => {
      if (!read(pid, 'environ').split('\0').includes(`OUTRIDER_TEST_RUN=${runId}`)) return []
      const command = read(pid, 'cmdline').replaceAll('\0', ' ').trim()
      return isRunnerOwn(command) ? [] : [`${pid} ${command.slice(0, 200)}`]
    })
}

/** vitest ends its own workers, and the bundler's service, after the teardown. */
const isRunnerOwn = (command: string): boolean => command === '' || /vitest|node_modules\/@esbuild|scripts\/test\.ts/.test(command)

function read(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}
