// The command line as a process of its own, from its sources.
import { spawn } from 'node:child_process'
import { join } from 'node:path'

const main = join(import.meta.dirname, '../../src/cli/main.ts')

export interface Finished {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface CliProcess {
  readonly finished: Promise<Finished>
  /** Resolves when standard error has shown this; rejects when the process ends before. */
  seen(what: RegExp): Promise<void>
  kill(signal: NodeJS.Signals): void
}

export interface CliOptions {
  readonly cwd: string
  /** Beside PATH nothing else is set. */
  readonly env?: Readonly<Record<string, string>>
}

const running = new Set<CliProcess>()

export function startCli(words: readonly string[], { cwd, env = {} }: CliOptions): CliProcess {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', main, ...words], {
    cwd,
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stdout = ''
  let stderr = ''
  const watchers = new Set<() => void>()
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
    for (const watcher of watchers) watcher()
  })
  const finished = new Promise<Finished>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => {
      running.delete(cli)
      resolve({ code, stdout, stderr })
    })
  })
  const cli: CliProcess = {
    finished,
    async seen(what) {
      const shown = new Promise<void>((resolve) => {
        const look = (): void => {
          if (!what.test(stderr)) return
          watchers.delete(look)
          resolve()
        }
        watchers.add(look)
        look()
      })
      const ended = finished.then(({ code }) => {
        if (!what.test(stderr)) throw new Error(`The process ended with ${code} before it said ${String(what)}:\n${stderr}`)
      })
      await Promise.race([shown, ended])
    },
    kill: (signal) => void child.kill(signal),
  }
  running.add(cli)
  return cli
}

export async function runCli(words: readonly string[], options: CliOptions): Promise<Finished> {
  return await startCli(words, options).finished
}

/** For the end of a test file: nothing that was started goes on. */
export async function endCliProcesses(): Promise<void> {
  const left = [...running]
  for (const cli of left) cli.kill('SIGKILL')
  await Promise.all(left.map((cli) => cli.finished))
}
