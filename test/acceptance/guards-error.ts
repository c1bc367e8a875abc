import { isOutriderError, type OutriderError } from '../../src/core/index.ts'

/** The error that stops it. */
export async function stopped(call: Promise<unknown>): Promise<OutriderError> {
  const error = await call.then(
    () => null,
    (reason: unknown) => reason,
  )
  if (!isOutriderError(error)) throw new Error(`Nothing stopped it: ${String(error)}`)
  return error
}

/** The SQL in a hint: from the first word of a statement to the last semicolon of its line. */
export const sqlOf = (error: OutriderError, line = 0): string => {
  const [sql] = /(?:ALTER|UPDATE|SELECT|GRANT|BEGIN|CREATE)\b.*;/.exec((error.hint ?? '').split('\n')[line] ?? '') ?? []
  if (sql === undefined) throw new Error(`No SQL in the hint: ${error.hint}`)
  return sql
}
