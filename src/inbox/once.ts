import { OutriderError, textOf } from '../core/index.ts'
import type { Executor, RowExecutor } from '../core/index.ts'
import { release, rollbackTo, savepoint, setLockTimeout } from './queries.ts'
import type { InboxStatements, InboxTable } from './queries.ts'

/** What became of a message. */
export type OnceResult<T> = { readonly status: 'processed'; readonly value: T } | { readonly status: 'duplicate' }

export interface OnceSettings {
  readonly consumer: string
  readonly table: InboxTable
  readonly statements: InboxStatements
  /** Null: waits as long as the other consumer's transaction lasts. */
  readonly lockTimeoutMs: number | null
}

/** Unique in the process, so that calls that overlap on one transaction fail loudly instead of undoing each other's work. */
let lastSavepoint = 0

/**
 * Notes the message, then runs `fn`, both in the caller's transaction and under a savepoint: when `fn` throws, the note and all that `fn` did
 * are undone, also if the caller catches the error and commits.
 */
export async function once<T>(
  executor: Executor | RowExecutor,
  id: string,
  fn: () => T | Promise<T>,
  settings: OnceSettings,
): Promise<OnceResult<T>> {
  return executor.dialect === 'memory' ? onceInMemory(executor, id, fn, settings) : onceInSql(executor, id, fn, settings)
}

async function onceInMemory<T>(
  executor: RowExecutor,
  id: string,
  fn: () => T | Promise<T>,
  settings: OnceSettings,
): Promise<OnceResult<T>> {
  const undoAll = executor.savepoint()
  if (!(await executor.remember(settings.consumer, id))) return { status: 'duplicate' }
  try {
    return { status: 'processed', value: await fn() }
  } catch (error) {
    undoAll()
    throw error
  }
}

async function onceInSql<T>(executor: Executor, id: string, fn: () => T | Promise<T>, settings: OnceSettings): Promise<OnceResult<T>> {
  lastSavepoint += 1
  const name = `outrider_once_${lastSavepoint}`
  await executor.query(savepoint(name), [])
  let isNew: boolean
  try {
    isNew = await note(executor, id, settings)
  } catch (cause) {
    await undo(executor, name)
    throw explained(cause, id, settings)
  }
  if (!isNew) {
    await executor.query(release(name), [])
    return { status: 'duplicate' }
  }
  let value: T
  try {
    value = await fn()
  } catch (error) {
    await undo(executor, name)
    throw error
  }
  await executor.query(release(name), [])
  return { status: 'processed', value }
}

async function note(executor: Executor, id: string, { consumer, statements, lockTimeoutMs }: OnceSettings): Promise<boolean> {
  const params = statements.hasConsumer ? [id, consumer] : [id]
  if (lockTimeoutMs === null) return isOne(await executor.query(statements.note, params))
  const { rows } = await executor.query(setLockTimeout, [`${lockTimeoutMs}ms`])
  const result = await executor.query(statements.note, params)
  await executor.query(setLockTimeout, [rows[0]?.['before'] ?? '0'])
  return isOne(result)
}

/** An executor of the caller's own that doesn't count would make every message a duplicate, and so lose it. */
function isOne({ rowCount }: { readonly rowCount: number }): boolean {
  if (rowCount === 1 || rowCount === 0) return rowCount === 1
  throw new OutriderError('USAGE', `The executor says that ${String(rowCount)} rows were inserted where it is 1 or 0. Nothing was done.`, {
    hint: 'Its query must resolve with { rows, rowCount }, rowCount being the number of rows that the statement changed.',
  })
}

/** The error that is on its way counts, not one of undoing: without a connection the transaction is gone anyway. */
async function undo(executor: Executor, name: string): Promise<void> {
  try {
    await executor.query(rollbackTo(name), [])
    await executor.query(release(name), [])
  } catch {}
}

function explained(cause: unknown, id: string, { table, lockTimeoutMs }: OnceSettings): unknown {
  const where = table.schema === null ? table.name : `${table.schema}.${table.name}`
  switch (cause instanceof Error && 'code' in cause ? cause.code : null) {
    case '40001':
      return new OutriderError(
        'INBOX_BUSY',
        `Another consumer handled message ${id} after this transaction took its snapshot. Nothing was done.`,
        { hint: 'Roll back and handle the message again: it will be a duplicate. READ COMMITTED needs no retry.', retryable: true, cause },
      )
    case '55P03':
      return new OutriderError(
        'INBOX_BUSY',
        `Another consumer has been handling message ${id} for longer than ${lockTimeoutMs} ms. Nothing was done.`,
        { hint: 'Handle the message again later; do not acknowledge it yet.', retryable: true, cause },
      )
    case '42P01':
      // A trigger on the inbox can miss a table of its own: that is another error.
      if (!textOf(cause).includes(table.name)) return cause
      return new OutriderError('INBOX_MISSING', `There is no table ${where}. Nothing was done.`, {
        hint: "Make it in the consumer's database: npx outrider migrate. Or name your own: createInbox({ table: { name, messageId } }).",
        cause,
      })
    case '42P10':
      return new OutriderError(
        'INBOX_MISSING',
        `The table ${where} has no unique index on exactly the columns that identify a message. Nothing was done.`,
        {
          hint: `Without it duplicates would pass. Give it a primary key on (${[table.consumer, table.messageId].filter((c) => c !== null).join(', ')}).`,
          cause,
        },
      )
    default:
      return cause
  }
}
