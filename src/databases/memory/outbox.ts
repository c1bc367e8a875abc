import type { Clock, ContentType, Message, OutboxRow, RowExecutor } from '../../core/index.ts'
import { OutriderError } from '../../core/index.ts'
import { MemorySource } from './source.ts'
import { Store } from './store.ts'
import type { NumberedRow } from './store.ts'

export interface MemoryOutboxOptions {
  /** Number of lanes. @default 8 */
  readonly lanes?: number
  /** What the payload column would say of its bytes. They are kept as written: nothing is normalised as jsonb would. @default 'application/json' */
  readonly contentType?: ContentType
  /** Drives leases and ages. @default the process's own clock */
  readonly clock?: Pick<Clock, 'monotonicMs' | 'wallMs'>
}

/** A transaction begun by hand, for tests in which one commits late. */
export interface MemoryTransaction {
  /** What `outbox.write` and `inbox.once` take as their transaction. */
  readonly tx: RowExecutor
  /** Makes what was written visible. Once only: throws USAGE after the end of the transaction. */
  commit(): void
  rollback(): void
}

/** A committed event of the memory outbox. */
export interface MemoryEntry {
  readonly message: Message
  readonly state: 'unsent' | 'sent'
}

export interface MemoryOutbox {
  /** Runs `fn` in a transaction: committed when it resolves, rolled back when it throws. */
  transaction<T>(fn: (tx: RowExecutor) => T | Promise<T>): Promise<T>
  begin(): MemoryTransaction
  /** A new connection for a relay. Several share the same rows, leases and tokens. */
  source(): MemorySource
  /** All committed events in order of `seq`. */
  entries(): readonly MemoryEntry[]
  /** Resolves when every committed event is settled. Never times out by itself. */
  settled(): Promise<void>
  /** Another relay takes the lane: whoever held it finds out at its next renewal or settlement. */
  takeOver(lane: number): void
}

/** An outbox in memory for tests: transactions to write in, and sources for relays to read from. Nothing survives the process. */
export function createMemoryOutbox(options: MemoryOutboxOptions = {}): MemoryOutbox {
  const lanes = options.lanes ?? 8
  if (!Number.isInteger(lanes) || lanes < 1) {
    throw new OutriderError('CONFIG_INVALID', `createMemoryOutbox got lanes = ${String(lanes)}: it must be a whole number from 1.`)
  }
  const clock = options.clock ?? { monotonicMs: () => performance.now(), wallMs: () => Date.now() }
  const store = new Store({
    lanes,
    contentType: options.contentType ?? 'application/json',
    nowMs: () => clock.monotonicMs(),
    wallMs: () => clock.wallMs(),
  })
  const inbox = new InboxRows()
  const begin = (): MemoryTransaction => beginTransaction(store, inbox)

  return {
    begin,
    async transaction(fn) {
      const transaction = begin()
      try {
        const value = await fn(transaction.tx)
        transaction.commit()
        return value
      } catch (error) {
        transaction.rollback()
        throw error
      }
    },
    source: () => new MemorySource(store),
    entries: () =>
      store.log
        .map(({ message, settled }): MemoryEntry => ({ message, state: settled ? 'sent' : 'unsent' }))
        .toSorted((a, b) => (a.message.seq < b.message.seq ? -1 : 1)),
    async settled() {
      while (store.unsettled().length > 0) await new Promise<void>((resolve) => store.onChange(resolve))
    },
    takeOver(lane) {
      store.take(lane, 'another relay', 0)
    },
  }
}

function beginTransaction(store: Store, inbox: InboxRows): MemoryTransaction {
  const createdAt = new Date(store.options.wallMs()).toISOString().replace('Z', '000Z')
  const rows: NumberedRow[] = []
  const mine = new Set<string>()
  let isOpen = true
  const assertOpen = (): void => {
    if (isOpen) return
    throw new OutriderError('NOT_IN_TRANSACTION', 'The memory transaction has ended already. Nothing was done.', {
      hint: 'Await every write before the transaction ends.',
    })
  }
  const end = (commit: boolean): void => {
    assertOpen()
    isOpen = false
    inbox.end(mine, commit)
    if (commit) store.commit(rows)
  }
  return {
    tx: {
      dialect: 'memory',
      insert(added: readonly OutboxRow[]) {
        assertOpen()
        rows.push(...added.map((row) => store.number(row, createdAt)))
      },
      async remember(consumer, messageId) {
        assertOpen()
        return inbox.claim(`${consumer}\u0000${messageId}`, mine)
      },
      savepoint() {
        assertOpen()
        const length = rows.length
        const before = new Set(mine)
        return () => {
          rows.length = length
          for (const row of mine) if (!before.has(row)) inbox.release(row, mine)
        }
      },
    },
    commit: () => end(true),
    rollback: () => end(false),
  }
}

/** The inbox's rows: a second transaction with the same one waits for the first, as a unique index makes it. */
class InboxRows {
  readonly #committed = new Set<string>()
  readonly #claimed = new Map<string, Set<string>>()
  readonly #waiting = new Set<() => void>()

  async claim(row: string, mine: Set<string>): Promise<boolean> {
    for (;;) {
      if (this.#committed.has(row) || mine.has(row)) return false
      if (!this.#claimed.has(row)) break
      await new Promise<void>((resolve) => this.#waiting.add(resolve))
    }
    this.#claimed.set(row, mine)
    mine.add(row)
    return true
  }

  release(row: string, mine: Set<string>): void {
    if (!mine.delete(row)) return
    this.#claimed.delete(row)
    this.#wake()
  }

  end(mine: Set<string>, commit: boolean): void {
    for (const row of mine) {
      this.#claimed.delete(row)
      if (commit) this.#committed.add(row)
    }
    mine.clear()
    this.#wake()
  }

  #wake(): void {
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const resolve of waiting) resolve()
  }
}
