import type { Source } from '../../core/index.ts'
import { LogSource } from './log/log-source.ts'
import type { OutboxNames } from './names.ts'

export { laneOf } from './lane.ts'
export { currentLayout, migrate, migrationSql } from './migrate.ts'
export type { MigrateOptions, PayloadType } from './migrate.ts'
export type { PgClient } from './client.ts'
export type { OutboxNames } from './names.ts'

export interface PostgresOptions extends OutboxNames {
  /** `postgres://user:password@host:port/database`: the primary itself, not a pooler in transaction mode. */
  readonly url?: string | undefined
  /** Settings as `pg` takes them, beside or instead of `url`: `{ host, port, user, password, database, ssl }`. */
  readonly connection?: Readonly<Record<string, unknown>> | undefined
  /**
   * Longest pause between two looks of an idle relay, in milliseconds. A look is one index probe. Raise it for
   * databases that scale to zero; a kick after commit ends the pause at once.
   * @default 1000
   */
  readonly pollMs?: number | undefined
  /** A statement that gets no answer for so long counts as a lost connection, in milliseconds. @default 30000 */
  readonly timeoutMs?: number | undefined
}

/**
 * Reads an outbox in PostgreSQL 15 or newer as a log. Uses two sessions of its own; needs the package `pg`.
 * Nothing is connected before the relay starts.
 */
export function postgres(options: PostgresOptions): Source {
  const { url, connection, pollMs = 1_000, timeoutMs = 30_000, schema, table } = options
  return new LogSource({
    connection: { ...connection, ...(url === undefined ? {} : { connectionString: url }) },
    pollMs,
    timeoutMs,
    schema,
    table,
  })
}
