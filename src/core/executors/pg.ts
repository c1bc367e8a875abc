import { OutriderError } from '../error.ts'
import type { Executor } from '../executor.ts'
import { hasMethods, notInTransaction } from './recogniser.ts'
import type { Caller } from './recogniser.ts'

interface PgClient {
  query(text: string, values: unknown[]): Promise<{ rows: Record<string, unknown>[]; rowCount: number | null }>
  /** Of the last answer: `I` idle, `T` in a transaction, `E` in a failed one; null before the first. */
  getTransactionStatus(): 'I' | 'T' | 'E' | null
}

const outside = 'Pass the client on which you ran BEGIN, before its COMMIT. Outside a transaction the event could exist without its change.'

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
  switch (client.getTransactionStatus()) {
    case 'T':
      return {
        dialect: 'postgres',
        async query(sql, params) {
          const { rows, rowCount } = await client.query(sql, [...params])
          return { rows, rowCount: rowCount ?? 0 }
        },
      }
    case 'E':
      throw notInTransaction(
        caller,
        'a pg client whose transaction has failed: an earlier statement was refused, and PostgreSQL takes no more until the rollback',
        'Roll back, and mend what the earlier statement ran into.',
      )
    default:
      throw notInTransaction(caller, 'a pg client that is not in a transaction', outside)
  }
}
