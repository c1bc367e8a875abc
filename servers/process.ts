// Server processes that can't outlive the process that started them, however that one ends.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

export interface LaunchOptions {
  readonly command: string
  readonly args: readonly string[]
  /** Both streams are appended here. */
  readonly log: string
  /** What the system sends the process when its starter dies. @default 'KILL' */
  readonly whenOrphaned?: 'KILL' | 'QUIT' | 'TERM'
  /** The user to run as; only root can ask for another. */
  readonly user?: ServerUser | undefined
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
}

export interface ServerUser {
  readonly name: string
  readonly uid: number
  readonly gid: number
}

export interface ServerProcess {
  readonly pid: number
  readonly exited: Promise<void>
  readonly running: boolean
  signal(name: NodeJS.Signals): void
  /** Sends `name`, waits for the end, and kills when that takes longer than `graceMs`. */
  end(name: NodeJS.Signals, graceMs: number): Promise<void>
}

const children = new Map<ChildProcess, NodeJS.Signals>()

const hasSetpriv = ((): (() => boolean) => {
  let known: boolean | undefined
  return () => (known ??= process.platform === 'linux' && String(spawnSync('setpriv', ['--help']).stdout).includes('--pdeathsig'))
})()

/** Starts a server in a process group of its own, so that Ctrl-C reaches only its starter, which then ends it. */
export function launch(options: LaunchOptions): ServerProcess {
  const whenOrphaned = options.whenOrphaned ?? 'KILL'
  const log = openSync(options.log, 'a')
  const [command, args] = hasSetpriv() ? underSetpriv(options, whenOrphaned) : [options.command, [...options.args]]
  const child = spawn(command, args, {
    stdio: ['ignore', log, log],
    detached: true,
    env: { ...process.env, ...options.env },
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    ...(options.user !== undefined && !hasSetpriv() ? { uid: options.user.uid, gid: options.user.gid } : {}),
  })
  closeSync(log)
  const pid = child.pid
  if (pid === undefined) throw new Error(`${options.command} can't be started. Is it installed?`)
  const watcher = hasSetpriv() ? undefined : watch(pid, whenOrphaned)
  children.set(child, `SIG${whenOrphaned}`)
  child.unref()
  const exited = new Promise<void>((resolve) => {
    child.once('error', () => resolve())
    child.once('exit', () => {
      children.delete(child)
      watcher?.kill()
      resolve()
    })
  })
  const running = (): boolean => child.exitCode === null && child.signalCode === null
  const signal = (name: NodeJS.Signals): void => {
    if (running()) child.kill(name)
  }
  return {
    pid,
    exited,
    get running() {
      return running()
    },
    signal,
    async end(name, graceMs) {
      // A stopped process takes no signal but KILL.
      signal('SIGCONT')
      signal(name)
      const late = new AbortController()
      child.ref()
      await Promise.race([exited, delay(graceMs, undefined, { signal: late.signal }).then(() => signal('SIGKILL'))])
      late.abort()
      await exited
    },
  }
}

function underSetpriv({ command, args, user }: LaunchOptions, whenOrphaned: string): [string, string[]] {
  const as = user === undefined ? [] : ['--reuid', String(user.uid), '--regid', String(user.gid), '--clear-groups']
  return ['setpriv', ['--pdeathsig', whenOrphaned, ...as, '--', command, ...args]]
}

/** Where the system has no death signal: a process whose standard input ends when its starter does. */
function watch(pid: number, signalName: string): ChildProcess {
  const script = `process.stdin.resume().on('end', () => { try { process.kill(${pid}, 'SIG${signalName}') } catch {} process.exit() })`
  const watcher = spawn(process.execPath, ['-e', script], { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
  watcher.unref()
  return watcher
}

/** Ends whatever is still running without returning to the event loop: for the last moment of a process. */
export function endAllNow(): void {
  for (const [child, name] of children) {
    child.kill('SIGCONT')
    child.kill(name)
  }
  const pids = [...children.keys()].map(({ pid }) => pid ?? 0)
  for (let waited = 0; waited < 3_000 && pids.some(isAlive); waited += 20) pauseNow(20)
}

/** Stops this thread. */
export const pauseNow = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)

/** Whether the process runs. One that has ended and was not yet taken note of by its parent doesn't. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !/\) [ZX] /.test(statOf(pid))
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

export function killNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended already.
  }
}

/** The processes that `pid` started itself. */
export function childrenOf(pid: number): number[] {
  const table = spawnSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).stdout
  return table
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .filter(([, parent]) => parent === pid)
    .map(([child]) => child ?? 0)
}

/** Tells a process from a later one with the same number. Empty where the system doesn't say. */
export function startedAt(pid: number): string {
  const text = statOf(pid)
  return text.slice(text.lastIndexOf(')') + 2).split(' ')[19] ?? ''
}

function statOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return ''
  }
}

/** Asks again until the answer is not undefined. Gives up when the server has ended, or after `timeoutMs`. */
export async function until<T>(
  what: string,
  ask: () => Promise<T | undefined>,
  options: { server?: ServerProcess; log?: string; timeoutMs?: number } = {},
): Promise<T> {
  const { server, log, timeoutMs = 60_000 } = options
  const end = performance.now() + timeoutMs
  let last: unknown
  while (performance.now() < end) {
    if (server?.running === false) throw new Error(`${what}: the server ended.${tailOf(log)}`)
    try {
      const answer = await ask()
      if (answer !== undefined) return answer
    } catch (error) {
      last = error
    }
    await delay(25)
  }
  throw new Error(`${what}: no answer within ${timeoutMs} ms.${tailOf(log)}`, { cause: last })
}

const tailOf = (log: string | undefined): string =>
  log !== undefined && existsSync(log) ? ` The end of its log:\n${readFileSync(log, 'utf8').slice(-3_000)}` : ''
