/**
 * The caller's own open transaction: all that a data library must give.
 * `query` sends one statement with its parameters over the transaction's connection, in the same tick as the call.
 */
export interface Executor {
  readonly dialect: 'postgres'
  query(sql: string, params: readonly unknown[]): Promise<{ readonly rows: readonly Record<string, unknown>[]; readonly rowCount: number }>
}

/** A row of the outbox before it has a number: what a write comes to, whatever the database. */
export interface OutboxRow {
  readonly id: string
  readonly aggregateType: string
  readonly aggregateId: string | null
  readonly type: string
  readonly payload: string | Uint8Array | null
  readonly headers: Readonly<Record<string, string>> | null
  readonly topic: string | null
  /** An override of `aggregateId` as the ordering key, null when there is none. */
  readonly key: string | null
}

/** A transaction that takes rows and no SQL: that of the memory outbox. */
export interface RowExecutor {
  readonly dialect: 'memory'
  insert(rows: readonly OutboxRow[]): void
  /** Notes that a consumer handled a message. `false`: it had already. */
  remember(consumer: string, messageId: string): Promise<boolean>
  /** Undoes all that was inserted and noted since, when it is called. */
  savepoint(): () => void
}
