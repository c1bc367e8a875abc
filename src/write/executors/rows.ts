import type { Executor, RowExecutor } from '../../core/index.ts'
import { hasMethods } from './recogniser.ts'

/** The transaction of the memory outbox. */
export function rows(candidate: object): RowExecutor | null {
  return 'dialect' in candidate && candidate.dialect === 'memory' && hasMethods(candidate, 'insert', 'remember', 'forget')
    ? (candidate as unknown as RowExecutor)
    : null
}

/** An executor of the caller's own: it has promised to be a transaction. */
export function ready(candidate: object): Executor | null {
  return 'dialect' in candidate && candidate.dialect === 'postgres' && hasMethods(candidate, 'query')
    ? (candidate as unknown as Executor)
    : null
}
