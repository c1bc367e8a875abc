import { OutriderError } from '../error.ts'
import type { Executor, RowExecutor } from '../executor.ts'

/** Who asks, for error messages: `outbox.write`. */
export type Caller = string

/**
 * Knows the transaction objects of one data library by their shape, without importing it. One small file each.
 * `null`: not one of this library's objects. Throws NOT_IN_TRANSACTION for a pool, a root object, or a connection outside a transaction.
 */
export type Recogniser = (candidate: object, caller: Caller) => Executor | RowExecutor | null

/** @param got what was passed, with its article: `a pg Pool` */
export function notInTransaction(caller: Caller, got: string, hint: string, cause?: unknown): OutriderError {
  return new OutriderError('NOT_IN_TRANSACTION', `${caller} got ${got}. Nothing was written.`, { hint, cause })
}

/** Whether an object has all these methods, own or inherited. */
export function hasMethods<K extends string>(value: object, ...names: K[]): value is Record<K, (...args: unknown[]) => unknown> {
  return names.every((name) => typeof (value as Partial<Record<K, unknown>>)[name] === 'function')
}
