import type { Executor, RowExecutor } from '../executor.ts'
import { hasMethods } from './recogniser.ts'

/** The transaction of the memory outbox. */
export function rows(candidate: object): RowExecutor | null {
  return 'dialect' in candidate && candidate.dialect === 'memory' && hasMethods(candidate, 'insert', 'remember', 'savepoint')
    ? (candidate as unknown as RowExecutor)
    : null
}

/** An executor of the caller's own: it has promised to be a transaction. */
export function ready(candidate: object): Executor | null {
  return 'dialect' in candidate && candidate.dialect === 'postgres' && hasMethods(candidate, 'query')
    ? (candidate as unknown as Executor)
    : null
}
