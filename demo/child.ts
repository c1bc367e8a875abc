// A role's process in the conductor's hands.
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { AnyTalk } from './talk.ts'

export interface Child<To> {
  readonly name: string
  readonly pid: number
  readonly exited: Promise<void>
  tell(message: To): void
  /** SIGKILL: no handler runs, nothing is flushed. Resolves when it is gone. */
  kill(): Promise<void>
}

export interface Children {
  /** @param onMessage told of everything that the role says */
  start<T extends AnyTalk>(role: string, task: T['task'], onMessage: (message: T['says']) => void): Child<T['hears']>
  /** Rejects as soon as a role ends that was not killed by `kill`, and of which `mayEnd` was not said. */
  readonly failure: Promise<never>
  /** From now on the end of this role is no failure. */
  mayEnd(child: Child<never>): void
  killAll(): Promise<void>
}

const longestTail = 4_000

export function createChildren(): Children {
  const running = new Set<Child<never>>()
  const expected = new Set<Child<never>>()
  const failure = Promise.withResolvers<never>()
  failure.promise.catch(() => undefined)
  return {
    failure: failure.promise,
    start(name, task, onMessage) {
      const child = fork(fileURLToPath(new URL(`${name}.ts`, import.meta.url)), [JSON.stringify(task)], {
        // A group of its own: Ctrl-C is the conductor's to answer.
        detached: true,
        stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
        // kafkajs computes a timeout below 0 at its end.
        execArgv: ['--disable-warning=TimeoutNegativeWarning', '--disable-warning=ExperimentalWarning'],
      })
      let tail = ''
      const keep = (piece: Buffer): void => void (tail = (tail + piece.toString()).slice(-longestTail))
      child.stdout?.on('data', keep)
      child.stderr?.on('data', keep)
      child.on('message', (message) => onMessage(message as Parameters<typeof onMessage>[0]))
      const exited = new Promise<void>((resolve) => {
        child.once('error', (error) => {
          keep(Buffer.from(String(error)))
          resolve()
        })
        child.once('exit', () => resolve())
      })
      const own = {
        name,
        pid: child.pid ?? 0,
        exited,
        tell: (message: object) => void (child.connected && child.send(message, () => undefined)),
        async kill() {
          expected.add(own)
          child.kill('SIGKILL')
          await exited
        },
      }
      running.add(own)
      void exited.then(() => {
        running.delete(own)
        if (!expected.has(own))
          failure.reject(new Error(`The process of the ${name} ended by itself (${child.exitCode ?? child.signalCode}).\n${tail}`))
      })
      return own
    },
    mayEnd: (child) => void expected.add(child),
    async killAll() {
      await Promise.all([...running].map((child) => child.kill()))
    },
  }
}
