import { isOutriderError, textOf } from '../../core/index.ts'
import { ProblemsError } from '../../config/problems.ts'
import { masked } from '../../config/secrets.ts'

/** `CODE  message` and the hint below it. An error that isn't Outrider's own is a defect: it keeps its stack. */
export function errorText(error: unknown, bold: (text: string) => string): string {
  if (!isOutriderError(error)) {
    const stack = error instanceof Error && error.stack !== undefined ? error.stack : textOf(error)
    return masked(`${bold('INTERNAL')}  ${stack}`)
  }
  const { code, message, hint } = error
  return masked(`${bold(code)}  ${message}${hint === null ? '' : `\n  ${hint}`}`)
}

/** The same for machines. */
export function errorDocument(error: unknown): { error: Record<string, unknown> } {
  if (!isOutriderError(error)) return { error: { code: 'INTERNAL', message: masked(textOf(error)), hint: null } }
  const problems = error instanceof ProblemsError ? { problems: error.problems.map((p) => ({ ...p, got: masked(p.got) })) } : {}
  return { error: { code: error.code, message: masked(error.message), hint: error.hint === null ? null : masked(error.hint), ...problems } }
}

/** JSON with 64-bit numbers as text. */
export function toJson(value: unknown): string {
  return JSON.stringify(value, (_, v: unknown) => (typeof v === 'bigint' ? String(v) : v))
}
