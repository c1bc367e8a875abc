import { setTimeout as pause } from 'node:timers/promises'
import type { Clock } from '../core/index.ts'

/** The clock of this machine. */
export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  sleep: async (ms, signal) => {
    await pause(ms, undefined, signal === undefined ? {} : { signal }).catch(() => undefined)
  },
}
