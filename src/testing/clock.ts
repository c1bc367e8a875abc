import type { Clock } from '../core/index.ts'

/** Time that stands still until the test moves it. */
export interface TestClock extends Clock {
  /** Moves time on by `ms`: sleepers wake one after another, each at its own time, and what they do next runs in between. */
  advance(ms: number): Promise<void>
  /** Resolves with the shortest time left once at least `count` sleepers wait. */
  sleeping(count?: number): Promise<number>
  /** How many wait now. */
  readonly sleepers: number
}

interface Sleeper {
  readonly atMs: number
  readonly wake: () => void
}

/** @param wallStartMs milliseconds since 1970 at which the wall clock starts. @default 2026-01-01T00:00:00Z */
export function createTestClock(wallStartMs: number = Date.UTC(2026, 0, 1)): TestClock {
  let nowMs = 0
  const sleepers = new Set<Sleeper>()
  const watchers = new Set<() => void>()
  const first = (): Sleeper | undefined => [...sleepers].toSorted((a, b) => a.atMs - b.atMs)[0]
  return {
    monotonicMs: () => nowMs,
    wallMs: () => wallStartMs + nowMs,
    sleep(ms, signal) {
      if (signal?.aborted === true) return Promise.resolve()
      return new Promise((resolve) => {
        const wake = (): void => {
          sleepers.delete(sleeper)
          signal?.removeEventListener('abort', wake)
          resolve()
        }
        const sleeper: Sleeper = { atMs: nowMs + Math.max(0, ms), wake }
        sleepers.add(sleeper)
        signal?.addEventListener('abort', wake)
        for (const watcher of watchers) watcher()
      })
    },
    async advance(ms) {
      const targetMs = nowMs + ms
      await pendingWork()
      for (let next = first(); next !== undefined && next.atMs <= targetMs; next = first()) {
        nowMs = Math.max(nowMs, next.atMs)
        next.wake()
        await pendingWork()
      }
      nowMs = targetMs
      await pendingWork()
    },
    async sleeping(count = 1) {
      while (sleepers.size < count) {
        await new Promise<void>((resolve) => {
          const watcher = (): void => {
            watchers.delete(watcher)
            resolve()
          }
          watchers.add(watcher)
        })
      }
      return Math.max(0, (first()?.atMs ?? nowMs) - nowMs)
    },
    get sleepers() {
      return sleepers.size
    },
  }
}

/** Lets everything run that needs no time: a turn of the event loop comes after all promises that are ready. */
async function pendingWork(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
}
