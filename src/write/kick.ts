import { notify } from './queries.ts'

/** Anything that runs one statement outside a transaction: a pg Pool, or a client. */
export interface Kickable {
  query(sql: string, params: unknown[]): PromiseLike<unknown>
}

interface Pending {
  again: boolean
}

/**
 * Tells the relays that there may be something to read. One NOTIFY is under way at a time for a pool; calls in the meantime come to one more.
 * Never throws and never rejects: the relay looks by itself anyway. In a transaction it does nothing: a NOTIFY there makes commits queue up.
 */
export function createKick(channel: string): (pool: Kickable) => void {
  const pending = new WeakMap<object, Pending>()
  const send = (pool: Kickable, state: Pending): void => {
    const settled = (): void => {
      if (!state.again) return void pending.delete(pool)
      state.again = false
      send(pool, state)
    }
    try {
      pool.query(notify, [channel, '']).then(settled, settled)
    } catch {
      pending.delete(pool)
    }
  }
  return (pool) => {
    if (typeof pool !== 'object' || pool === null || isInTransaction(pool)) return
    const state = pending.get(pool)
    if (state !== undefined) {
      state.again = true
      return
    }
    const started = { again: false }
    pending.set(pool, started)
    send(pool, started)
  }
}

function isInTransaction(pool: object): boolean {
  if (!('getTransactionStatus' in pool) || typeof pool.getTransactionStatus !== 'function') return false
  try {
    return pool.getTransactionStatus() !== 'I'
  } catch {
    return true
  }
}
