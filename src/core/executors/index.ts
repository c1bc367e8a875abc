import { OutriderError } from '../error.ts'
import type { Executor, RowExecutor } from '../executor.ts'
import { pg } from './pg.ts'
import type { Caller, Recogniser } from './recogniser.ts'
import { ready, rows } from './rows.ts'

/** Asked in this order. `pg` comes last: its shape is the least telling. */
const recognisers: readonly Recogniser[] = [ready, rows, pg]

/** Turns the transaction of a library that Outrider doesn't know into something that runs SQL in it. */
export type OwnExecutor = (this: void, tx: object) => Executor

/** The caller's transaction as an executor. Throws NOT_IN_TRANSACTION or UNKNOWN_EXECUTOR, naming what was passed. */
export function enlist(tx: unknown, caller: Caller, own?: OwnExecutor): Executor | RowExecutor {
  const candidate = own !== undefined && isObject(tx) ? own(tx) : tx
  if (isObject(candidate)) {
    for (const recognise of recognisers) {
      const executor = recognise(candidate, caller)
      if (executor !== null) return executor
    }
  }
  throw new OutriderError(
    'UNKNOWN_EXECUTOR',
    `${caller} got ${describe(candidate)}, which is no transaction that it knows. Nothing was written.`,
    {
      hint: 'Pass a pg client between BEGIN and COMMIT. For any other library give the option executor: (tx) => ({ dialect: "postgres", query }).',
    },
  )
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function'
}

function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (typeof value === 'function') return `the function ${value.name === '' ? '(anonymous)' : value.name}`
  if (typeof value !== 'object') return `a ${typeof value}`
  if (value instanceof Promise) return 'a Promise (an await is missing)'
  const name: unknown = value.constructor?.name
  return typeof name === 'string' && name !== '' && name !== 'Object'
    ? `a ${name}`
    : `an object with ${Object.keys(value).slice(0, 6).join(', ') || 'nothing in it'}`
}
