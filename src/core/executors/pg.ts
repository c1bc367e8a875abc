import { OutriderError } from '../error.ts'
import type { Executor } from '../executor.ts'
import { hasMethods, notInTransaction } from './recogniser.ts'
import type { Caller } from './recogniser.ts'

interface PgClient {
  query(text: string, values?: unknown[]): Promise<{ rows: Record<string, unknown>[]; rowCount: number | null }>
  /** As of the last statement that has ended: `I` idle, `T` in a transaction, `E` in a failed one; null before the first. */
  getTransactionStatus(): 'I' | 'T' | 'E' | null
  readonly readyForQuery?: boolean
  readonly _activeQuery?: object | null
}

/** The client of `pg`, from `new Client()` or `pool.connect()`, between BEGIN and COMMIT. */
export function pg(candidate: object, caller: Caller): Executor | null {
  if (!hasMethods(candidate, 'query', 'connect')) return null
  if ('totalCount' in candidate) {
    throw notInTransaction(
      caller,
      'a pg Pool, which runs each statement on any connection',
      'Take a client by `await pool.connect()`, run BEGIN on it, and pass that client. Otherwise the event could exist without its change.',
    )
  }
  if (!hasMethods(candidate, 'getTransactionStatus')) {
    throw new OutriderError(
      'UNKNOWN_EXECUTOR',
      `${caller} got a connection that can't tell whether it is in a transaction: it has no getTransactionStatus(). Nothing was written.`,
      {
        hint: 'If it is a pg client, update: npm install pg@^8.21. For any other library give the option executor: (tx) => ({ dialect: "postgres", query }).',
      },
    )
  }
  const client = candidate as unknown as PgClient
  const status = client.getTransactionStatus()
  if (status === 'E') throw failed(caller)
  if (status !== 'T') throw notInside(caller)
  return { dialect: 'postgres', query: (sql, params) => run(client, caller, sql, params) }
}

async function run(client: PgClient, caller: Caller, sql: string, params: readonly unknown[]): ReturnType<Executor['query']> {
  if (isBetween(client)) {
    // An empty statement brings the status up to date. A failed transaction still takes a rollback to a savepoint.
    await client.query('')
    if (!['T', 'E'].includes(client.getTransactionStatus() ?? '')) throw notInside(caller)
  }
  let result: Awaited<ReturnType<PgClient['query']>>
  try {
    result = await client.query(sql, [...params])
  } catch (cause) {
    throw cause instanceof Error && 'code' in cause && cause.code === '25P02' ? failed(caller, cause) : cause
  }
  // A COMMIT that was sent before and not awaited has ended the transaction in the meantime.
  if (client.getTransactionStatus() !== 'T') {
    throw new OutriderError('NOT_IN_TRANSACTION', `${caller} came after the end of the transaction. What it wrote stands by itself.`, {
      hint: 'Await every statement before the next. An unfinished COMMIT or ROLLBACK was ahead of this call.',
    })
  }
  return { rows: result.rows, rowCount: result.rowCount ?? 0 }
}

/**
 * A statement has just been refused, and the server hasn't said yet what that did to the transaction: pg's status is the one of before.
 * It matters when the refused statement was COMMIT: what is sent next would be in no transaction.
 */
function isBetween(client: PgClient): boolean {
  return client.readyForQuery === false && client['_activeQuery'] === null
}

function notInside(caller: Caller): OutriderError {
  return notInTransaction(
    caller,
    'a pg client that is not in a transaction',
    'Pass the client on which you ran BEGIN, before its COMMIT. Outside a transaction the event could exist without its change.',
  )
}

function failed(caller: Caller, cause?: unknown): OutriderError {
  return notInTransaction(
    caller,
    'a pg client whose transaction has failed: an earlier statement was refused, and PostgreSQL takes no more until the rollback',
    'Roll back, and mend what the earlier statement ran into.',
    cause,
  )
}
