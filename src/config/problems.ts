import { OutriderError, type OutriderErrorCode } from '../core/index.ts'

/** One thing that is wrong with what a person wrote: in a file, in the environment, on the command line. */
export interface Problem {
  /** The setting, as the person knows it: `batchSize`, `KAFKA_BROKERS`, `--lanes`. */
  readonly where: string
  readonly got: string
  readonly expected: string
  /** The name that was probably meant. */
  readonly meant?: string | undefined
}

/** All problems of one look at once, so that nobody mends them one by one. */
export class ProblemsError extends OutriderError {
  readonly problems: readonly Problem[]

  constructor(code: OutriderErrorCode, what: string, problems: readonly Problem[], options: { hint?: string; cause?: unknown } = {}) {
    const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`
    super(code, `${what} has ${count}. Nothing was done.\n${problems.map((p) => `  ${lineOf(p)}`).join('\n')}`, options)
    this.problems = problems
  }
}

export function lineOf(problem: Problem): string {
  const meant = problem.meant === undefined ? '' : ` (did you mean ${problem.meant}?)`
  return `${problem.where}: got ${problem.got}, expected ${problem.expected}${meant}`
}

/** Describes a value for people without printing what is in it. */
export function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return `a list of ${value.length}`
  if (value instanceof Promise) return 'a promise'
  const kind = typeof value
  return kind === 'object' ? 'an object' : `a ${kind}`
}

/** A value as it may be shown: short, on one line. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}...` : value)
  return typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint' ? String(value) : kindOf(value)
}

interface Shared {
  /** Not null while a configuration file is being loaded: problems are gathered here instead of being thrown. */
  gathering: Problem[] | null
  readonly secrets: Set<string>
}

// Kept on globalThis, because the command line and the configuration file may hold two copies of this module.
const sharedKey = Symbol.for('outrider.config')

export function shared(): Shared {
  const holder = globalThis as unknown as Record<symbol, Shared | undefined>
  return (holder[sharedKey] ??= { gathering: null, secrets: new Set() })
}

/** Notes a problem while a file is being loaded, throws it otherwise. */
export function note(what: string, problem: Problem): void {
  const { gathering } = shared()
  if (gathering === null) throw new ProblemsError('CONFIG_INVALID', what, [problem])
  gathering.push(problem)
}

/** Runs `load` while problems are gathered, and gives them beside its outcome. One load at a time. */
export async function gather<T>(load: () => Promise<T>): Promise<{ problems: readonly Problem[] } & ({ value: T } | { error: unknown })> {
  const problems: Problem[] = []
  const state = shared()
  state.gathering = problems
  try {
    return { problems, value: await load() }
  } catch (error) {
    return { problems, error }
  } finally {
    state.gathering = null
  }
}
