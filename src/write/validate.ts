import { after, issuesText, OutriderError } from '../core/index.ts'
import type { SchemaResult, StandardSchema } from '../core/index.ts'
import { toJson } from './json.ts'

/** A validated payload and the text that is stored for it. */
export interface Validated {
  readonly value: unknown
  readonly text: string
}

/**
 * Runs the schema and writes its output as JSON. Synchronous when the schema is, so that the SQL goes out in the caller's tick.
 * `verify`: the stored JSON must pass the schema once more, unchanged, because that is what readers run on it.
 * Throws PAYLOAD_INVALID, PAYLOAD_NOT_STORABLE, SCHEMA_NOT_STABLE.
 */
export function validate(schema: StandardSchema | null, payload: unknown, type: string, verify: boolean): Validated | Promise<Validated> {
  if (schema === null) return { value: payload, text: toJson(payload, type) }
  return after(schema['~standard'].validate(payload), (result) => {
    const value = accepted(result, type)
    const text = toJson(value, type)
    if (!verify) return { value, text }
    return after(schema['~standard'].validate(JSON.parse(text)), (again) => {
      assertStable(again, text, type)
      return { value, text }
    })
  })
}

function accepted(result: SchemaResult<unknown>, type: string): unknown {
  if (result.issues === undefined) return result.value
  throw new OutriderError('PAYLOAD_INVALID', `${type}: ${issuesText(result.issues)}. Nothing was written.`)
}

function assertStable(again: SchemaResult<unknown>, text: string, type: string): void {
  let why: string | null = null
  if (again.issues !== undefined) why = `the schema refuses its own output (${issuesText(again.issues)})`
  else {
    const second = toJson(again.value, type)
    if (second !== text && !equal(JSON.parse(second), JSON.parse(text)))
      why = `a second run of the schema changes its own output from ${cut(text)} to ${cut(second)}`
  }
  if (why === null) return
  throw new OutriderError('SCHEMA_NOT_STABLE', `${type}: ${why}. Nothing was written.`, {
    hint: 'Readers validate what is stored, so the schema must describe the wire: transform before the write or after the read, not in the schema.',
  })
}

function cut(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}...` : text
}

/** Whether two parsed JSON values are the same, whatever the order of their keys. */
function equal(a: unknown, b: unknown): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const keys = Object.keys(a)
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && equal((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key]))
  )
}
