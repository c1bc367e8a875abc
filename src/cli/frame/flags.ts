// Flags as data: parsed strictly, explained by the same table.
import { parseArgs } from 'node:util'
import { nearest } from '../../core/nearest.ts'
import { ProblemsError, shown, type Problem } from '../../config/problems.ts'
import { expectedWhole } from '../../config/settings.ts'

export type Flag = { readonly summary: string } & (
  | { readonly kind: 'boolean' }
  | { readonly kind: 'text'; readonly value: string }
  | { readonly kind: 'number'; readonly value: string; readonly min: number; readonly max: number }
  | { readonly kind: 'choice'; readonly choices: readonly string[] }
)
export type Flags = Readonly<Record<string, Flag>>

type ValueOf<F extends Flag> = F extends { kind: 'boolean' }
  ? boolean
  : F extends { kind: 'number' }
    ? number
    : F extends { kind: 'choice'; choices: readonly (infer C)[] }
      ? C
      : string
export type FlagValues<F extends Flags> = { readonly [N in keyof F]?: ValueOf<F[N]> }

/** Flags that every command has. */
export const commonFlags = {
  json: { kind: 'boolean', summary: 'one JSON document on standard output, everything else on standard error' },
  help: { kind: 'boolean', summary: 'this text' },
} as const satisfies Flags

export interface Parsed {
  readonly flags: Readonly<Record<string, string | number | boolean>>
  readonly operands: readonly string[]
}

/**
 * @param operands names of what must follow; an operand more or less is a problem
 * @throws OutriderError USAGE with every problem
 */
export function parseFlags(argv: readonly string[], flags: Flags, operands: readonly string[], what: string): Parsed {
  const problems: Problem[] = []
  const options = Object.fromEntries(
    Object.entries(flags).map(([name, flag]) => [name, { type: flag.kind === 'boolean' ? 'boolean' : 'string' } as const]),
  )
  // Not strict: its own errors stop at the first and know no nearest name.
  const { tokens } = parseArgs({
    args: [...argv],
    options: { ...options, help: { type: 'boolean', short: 'h' } },
    strict: false,
    allowPositionals: true,
    tokens: true,
  })
  const values: Record<string, string | number | boolean> = {}
  const found: string[] = []
  for (const token of tokens) {
    if (token.kind === 'positional') found.push(token.value)
    if (token.kind !== 'option') continue
    const flag = Object.hasOwn(flags, token.name) ? flags[token.name] : undefined
    const where = token.rawName
    if (flag === undefined) {
      const meant = nearest(token.name, Object.keys(flags))
      problems.push({ where, got: 'an unknown flag', expected: `a flag of ${what}`, meant: meant === undefined ? undefined : `--${meant}` })
    } else if (Object.hasOwn(values, token.name)) {
      problems.push({ where, got: 'the flag twice', expected: 'it once' })
    } else if (flag.kind !== 'boolean' && (token.value === undefined || (!token.inlineValue && /^-[^\d]/.test(token.value)))) {
      problems.push({ where, got: 'no value', expected: `one (${where}=... when it begins with a dash)` })
    } else {
      const value = valueOf(flag, where, token.value, problems)
      if (value !== undefined) values[token.name] = value
    }
  }
  if (values['help'] !== true) operandProblems(found, operands, what, problems)
  if (problems.length > 0)
    throw new ProblemsError('USAGE', 'The command line', problems, { hint: `outrider help ${what.replace(/^outrider /, '')}`.trim() })
  return { flags: values, operands: found }
}

function valueOf(flag: Flag, where: string, text: string | undefined, problems: Problem[]): string | number | boolean | undefined {
  switch (flag.kind) {
    case 'boolean':
      if (text === undefined || text === 'true') return true
      if (text === 'false') return false
      problems.push({ where, got: shown(text), expected: 'true or false, or no value at all' })
      return undefined
    case 'number': {
      const number = text !== undefined && /^-?\d+$/.test(text) ? Number(text) : Number.NaN
      if (number >= flag.min && number <= flag.max) return number
      problems.push({ where, got: shown(text), expected: expectedWhole(flag) })
      return undefined
    }
    case 'choice':
      if (flag.choices.includes(text ?? '')) return text
      problems.push({ where, got: shown(text), expected: `one of ${flag.choices.join(', ')}`, meant: nearest(text ?? '', flag.choices) })
      return undefined
    case 'text':
      if (text !== '') return text
      problems.push({ where, got: 'an empty value', expected: flag.value })
      return undefined
  }
}

function operandProblems(found: readonly string[], wanted: readonly string[], what: string, problems: Problem[]): void {
  for (const name of wanted.slice(found.length)) problems.push({ where: name, got: 'nothing', expected: `${what} ${wanted.join(' ')}` })
  for (const extra of found.slice(wanted.length)) {
    problems.push({
      where: shown(extra),
      got: 'one word too many',
      expected: wanted.length === 0 ? `nothing after ${what}` : `${what} ${wanted.join(' ')}`,
    })
  }
}

/** The flags as lines of help. */
export function flagLines(flags: Flags): string[] {
  const rows = Object.entries(flags).map(([name, flag]) => [`--${name}${valueName(flag)}`, flag.summary] as const)
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`)
}

function valueName(flag: Flag): string {
  if (flag.kind === 'boolean') return ''
  return ` ${flag.kind === 'choice' ? flag.choices.join('|') : flag.value}`
}
