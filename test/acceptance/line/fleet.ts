// Starts relay processes, listens to them, kills them, and knows when all is delivered.
import { fork, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import type { PausePoint } from '../../../src/relay/index.ts'
import type { RelayNews, RelayTask } from './relay-process.ts'

export interface RelayProcess {
  readonly pid: number
  /** Holds the relay up at its next passing of this point; `none` lets it go on. */
  arm(point: PausePoint | 'none'): void
  /** Resolves with the first news that fits. Rejects when the process ends before. */
  next<K extends RelayNews['kind']>(kind: K): Promise<Extract<RelayNews, { kind: K }>>
  /** SIGKILL. */
  kill(): Promise<void>
  /** SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>
}

export function startRelay(task: RelayTask): RelayProcess {
  const child = fork(fileURLToPath(new URL('relay-process.ts', import.meta.url)), [JSON.stringify(task)], {
    execArgv: [],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const waiting = new Set<(news: RelayNews) => void>()
  child.on('message', (news) => {
    for (const listener of waiting) listener(news as RelayNews)
  })
  const gone = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)))
  return {
    pid: child.pid!,
    arm: (point) => void child.send(point, () => undefined),
    async next(kind) {
      const { promise, resolve } = Promise.withResolvers<RelayNews>()
      const listener = (news: RelayNews): void => {
        if (news.kind === kind) resolve(news)
      }
      waiting.add(listener)
      const ended = gone.then((code) => {
        throw new Error(`the relay ended with ${code} before it was ${kind}`)
      })
      try {
        return (await Promise.race([promise, ended])) as Extract<RelayNews, { kind: typeof kind }>
      } finally {
        waiting.delete(listener)
        ended.catch(() => undefined)
      }
    },
    kill: () => end(child, 'SIGKILL', gone).then(() => undefined),
    stop: () => end(child, 'SIGTERM', gone),
  }
}

async function end(child: ChildProcess, signal: NodeJS.Signals, gone: Promise<number | null>): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) child.kill(signal)
  return gone
}

/** Resolves when every lane's position has passed every row and no gap row is left. Rejects after `maxMs`. */
export async function drained(url: string, maxMs: number): Promise<void> {
  const client = new Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  try {
    const endsAt = Date.now() + maxMs
    for (;;) {
      const { rows } = await client.query<{ done: boolean; upto: string; last: string; gaps: string }>(
        `select p.upto >= o.last and g.gaps = 0 as done, p.upto, o.last, g.gaps
         from (select min(upto) as upto from outrider.outbox_position) p, (select coalesce(max(seq), 0) as last from outrider.outbox) o,
           (select count(*) as gaps from outrider.outbox_gap) g`,
      )
      if (rows[0]?.done === true) return
      if (Date.now() > endsAt) throw new Error(`not drained after ${maxMs} ms: ${JSON.stringify(rows[0])}`)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  } finally {
    await client.end()
  }
}
