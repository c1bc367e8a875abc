import { OutriderError, textOf } from '../core/index.ts'
import type { Executor, OutboxRow, RowExecutor } from '../core/index.ts'
import { arrayLiteral, toHex } from './array-literal.ts'
import type { InsertStatements, PayloadType } from './queries.ts'

/** Where rows go, and how. */
export interface Target {
  readonly schema: string
  readonly table: string
  readonly payload: PayloadType
  readonly statements: InsertStatements
}

/** Characters of payload in one statement. Beyond it a second one follows, so that memory stays bounded. */
const maxStatementLength = 32_000_000

/**
 * Inserts rows in their order: one statement, one round trip. The first statement is handed to the driver before this function returns.
 * Throws OUTBOX_MISSING; any other error of the driver is passed on as it is.
 */
export function insert(executor: Executor | RowExecutor, rows: readonly OutboxRow[], target: Target): Promise<void> {
  if (executor.dialect === 'memory') {
    executor.insert(rows)
    return Promise.resolve()
  }
  return insertSql(executor, rows, target)
}

async function insertSql(executor: Executor, rows: readonly OutboxRow[], target: Target): Promise<void> {
  const [only, second] = rows
  if (only === undefined) return
  try {
    if (second === undefined) {
      await executor.query(target.statements.one, columns(only, target.payload))
      return
    }
    for (let from = 0; from < rows.length;) {
      const chunk = chunkFrom(rows, from)
      const cells = chunk.map((row) => columns(row, target.payload))
      const arrays = Array.from({ length: 8 }, (_, column) => arrayLiteral(cells.map((cell) => cell[column] ?? null)))
      await executor.query(target.statements.many, arrays)
      from += chunk.length
    }
  } catch (cause) {
    throw isMissing(cause, target) ? missing(cause, target) : cause
  }
}

function chunkFrom(rows: readonly OutboxRow[], from: number): readonly OutboxRow[] {
  let length = 0
  for (let i = from; i < rows.length; i++) {
    length += rows[i]?.payload?.length ?? 0
    if (length > maxStatementLength && i > from) return rows.slice(from, i)
  }
  return from === 0 ? rows : rows.slice(from)
}

function columns(row: OutboxRow, type: PayloadType): (string | null)[] {
  const headers = row.headers === null ? null : JSON.stringify(row.headers)
  return [row.id, row.aggregateType, row.aggregateId, row.type, payloadText(row.payload, type), headers, row.topic, row.key]
}

const encoder = new TextEncoder()

function payloadText(payload: OutboxRow['payload'], type: PayloadType): string | null {
  if (type === 'bytea' && payload !== null) return toHex(typeof payload === 'string' ? encoder.encode(payload) : payload)
  return payload === null || typeof payload === 'string' ? payload : new TextDecoder().decode(payload)
}

function isMissing(error: unknown, { table }: Target): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : null
  // A trigger on the outbox can miss a table of its own: that is another error.
  return (code === '42P01' && textOf(error).includes(table)) || code === '3F000'
}

function missing(cause: unknown, { schema, table }: Target): OutriderError {
  return new OutriderError(
    'OUTBOX_MISSING',
    `There is no table "${schema}"."${table}". Nothing was written, and PostgreSQL has ended this transaction: all it takes now is a rollback.`,
    { hint: `Make the tables first: npx outrider migrate${schema === 'outrider' ? '' : ` --schema ${schema}`}`, cause },
  )
}
