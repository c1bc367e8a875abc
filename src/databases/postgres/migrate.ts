import { OutriderError } from '../../core/index.ts'
import { migrations } from './migrations.ts'
import { namesOf, quoteName, quoteText, type Names, type OutboxNames } from './names.ts'
import { findMeta, lockMigrations, readLayout } from './queries.ts'
import type { PgClient } from './client.ts'

/** Type of the payload column. `jsonb` can be queried and is rewritten by PostgreSQL; the others keep the writer's bytes. */
export type PayloadType = 'jsonb' | 'json' | 'text' | 'bytea'

export interface MigrateOptions extends OutboxNames {
  /** Number of lanes of a new outbox, 1 to 1024. More than relays x 2 costs a little and gains nothing. @default 8 */
  readonly lanes?: number | undefined
  /** Payload column of a new outbox. @default 'jsonb' */
  readonly payload?: PayloadType | undefined
}

/** Layout that this version of Outrider writes and reads. */
export const currentLayout = migrations.length

function fill(sql: string, names: Names, options: MigrateOptions): string {
  const lanes = options.lanes ?? 8
  const payload = options.payload ?? 'jsonb'
  if (!Number.isInteger(lanes) || lanes < 1 || lanes > 1024) {
    throw new OutriderError('CONFIG_INVALID', `lanes is ${lanes}: it must be a whole number from 1 to 1024. Nothing was changed.`)
  }
  if (!['jsonb', 'json', 'text', 'bytea'].includes(payload)) {
    throw new OutriderError(
      'CONFIG_INVALID',
      `payload is ${JSON.stringify(payload)}: it must be jsonb, json, text or bytea. Nothing was changed.`,
    )
  }
  return sql.replace(/\{\{(\w+)\}\}/g, (_, word: string) => {
    switch (word) {
      case 'outbox':
        return names.outbox
      case 'outbox_text':
        return quoteText(names.outbox)
      case 'inbox':
        return names.inbox
      case 'inbox_handled_at':
        return quoteName(`${names.inboxName}_handled_at`)
      case 'payload':
        return payload
      case 'lanes':
        return String(lanes)
      default:
        return names.of(word as Parameters<Names['of']>[0])
    }
  })
}

/**
 * The SQL that brings an outbox from layout `from` to the current one, for your own migration tool.
 * It has no transaction of its own: run it in one.
 *
 * @param from layout that is there; 0 is none
 */
export function migrationSql(options: MigrateOptions & { readonly from?: number } = {}): string {
  const names = namesOf(options)
  const steps = migrations
    .filter((m) => m.version > (options.from ?? 0))
    .map(
      (m) => `-- ${m.version}: ${m.name}\n${fill(m.sql, names, options)}\nupdate ${names.of('meta')} set schema_version = ${m.version};\n`,
    )
  return steps.length === 0 ? '' : `create schema if not exists ${names.quotedSchema};\n\n${steps.join('\n')}`
}

/**
 * Creates the outbox, or brings it to the current layout, in one transaction under an advisory lock.
 * Two calls at once are safe: the second waits and finds nothing to do.
 *
 * @param client a connected `pg` client, outside a transaction; a pooler in transaction mode will do
 * @returns the layout before and after
 * @throws OutriderError SCHEMA_TOO_NEW when the database is ahead of this version of Outrider
 */
export async function migrate(client: PgClient, options: MigrateOptions = {}): Promise<{ from: number; to: number }> {
  const names = namesOf(options)
  migrationSql(options)
  await client.query('begin')
  try {
    await client.query(lockMigrations(names))
    const from = await layoutOf(client, names)
    if (from > currentLayout) {
      throw new OutriderError(
        'SCHEMA_TOO_NEW',
        `The outbox ${names.outbox} has layout ${from}; this version of Outrider knows ${currentLayout}. Nothing was changed.`,
        {
          hint: 'Update the outrider package.',
        },
      )
    }
    const sql = migrationSql({ ...options, from })
    if (sql !== '') await client.query(sql)
    await client.query('commit')
    return { from, to: currentLayout }
  } catch (error) {
    await client.query('rollback').catch(() => undefined)
    throw error
  }
}

/** The layout that is there; 0 is none. */
async function layoutOf(client: PgClient, names: Names): Promise<number> {
  const found = (await client.query(findMeta, [names.of('meta')])).rows as { meta: string | null }[]
  if (found[0]?.meta == null) return 0
  const layout = (await client.query(readLayout(names))).rows as { version: number }[]
  return layout[0]?.version ?? 0
}
