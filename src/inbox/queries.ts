import { quoteName } from '../core/index.ts'

/** Where handled messages are noted. */
export interface InboxTable {
  /** Null: found by the connection's search_path. */
  readonly schema: string | null
  readonly name: string
  readonly messageId: string
  /** Null: the table is keyed by the message alone. */
  readonly consumer: string | null
}

export interface InboxStatements {
  /** Takes the message id and, where the table has that column, the consumer. Changes one row, or none for a duplicate. */
  readonly note: string
  readonly hasConsumer: boolean
}

/**
 * Rides on the unique index of the key, which the conflict target names: without such an index PostgreSQL refuses it, rather than letting
 * every duplicate pass. A row of a transaction that is still open makes it wait for that one's end; no unique violation ever reaches the caller.
 * The parameters have no cast, so that an existing column may be text, varchar or uuid.
 */
export function inboxStatements({ schema, name, messageId, consumer }: InboxTable): InboxStatements {
  const table = schema === null ? quoteName(name) : `${quoteName(schema)}.${quoteName(name)}`
  const id = quoteName(messageId)
  if (consumer === null) {
    return { hasConsumer: false, note: `insert into ${table} (${id}) values ($1) on conflict (${id}) do nothing` }
  }
  const who = quoteName(consumer)
  return { hasConsumer: true, note: `insert into ${table} (${id}, ${who}) values ($1, $2) on conflict (${who}, ${id}) do nothing` }
}

/** What is done under a savepoint can be undone although the caller's transaction goes on. Names are made by us: no quoting. */
export const savepoint = (name: string): string => `savepoint ${name}`
export const release = (name: string): string => `release savepoint ${name}`
export const rollbackTo = (name: string): string => `rollback to savepoint ${name}`

/** For this transaction only; answers what held before. */
export const setLockTimeout = `select current_setting('lock_timeout') as before, set_config('lock_timeout', $1, true)`
