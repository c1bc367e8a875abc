// A process of the run and its two ends: the conductor's, and the role's own.
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export interface Role<Order extends object> {
  readonly pid: number
  /** Resolves with the exit code, null when a signal ended it. What it said before has been heard by then. */
  readonly exited: Promise<number | null>
  readonly isRunning: boolean
  /** The end of what it printed. */
  readonly tail: string
  tell(order: Order): void
  signal(name: NodeJS.Signals): void
}

/** What a role is: its task, what it says, what it hears. */
export interface Talk {
  readonly task: object
  readonly news: object
  readonly order: object
}

const longestTail = 4_000

/** Starts `chaos/<name>.ts` as a process. It ends with this one. */
export function startRole<T extends Talk>(name: string, task: T['task'], onNews: (news: T['news']) => void): Role<T['order']> {
  const child = fork(fileURLToPath(new URL(`${name}.ts`, import.meta.url)), [JSON.stringify(task)], {
    // A group of its own: Ctrl-C is the conductor's to answer.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    execArgv: ['--disable-warning=ExperimentalWarning'],
  })
  let tail = ''
  let isRunning = true
  const keep = (piece: Buffer): void => void (tail = (tail + piece.toString()).slice(-longestTail))
  child.stdout?.on('data', keep)
  child.stderr?.on('data', keep)
  child.on('message', (news) => onNews(news as T['news']))
  const exited = new Promise<number | null>((resolve) => {
    child.once('error', (error) => keep(Buffer.from(String(error))))
    child.once('close', (code) => {
      isRunning = false
      resolve(code)
    })
  })
  return {
    pid: child.pid ?? 0,
    exited,
    get isRunning() {
      return isRunning
    },
    get tail() {
      return tail
    },
    tell: (order) => void (child.connected && child.send(order, () => undefined)),
    signal: (signal) => void (isRunning && child.kill(signal)),
  }
}

/** The role's own end. */
export function ownRole<T extends Talk>(
  onOrder: (order: T['order']) => void,
): { readonly task: T['task']; readonly tell: (news: T['news']) => Promise<void> } {
  process.on('disconnect', () => process.exit())
  process.on('message', (order) => onOrder(order as T['order']))
  return {
    task: JSON.parse(process.argv[2] ?? 'null') as T['task'],
    tell: (news) =>
      new Promise((resolve) => {
        process.send?.(news, () => resolve())
      }),
  }
}
