// The settings that a file, the environment and flags may all give. One row here is a key, a variable and a flag.
import type { Environment } from './env.ts'
import { lookUp, parseNumber } from './env.ts'
import { shown, type Problem } from './problems.ts'

export interface NumberSetting {
  readonly min: number
  readonly max: number
  /** Variable that overrides the file. */
  readonly variable: string
  readonly flag: string
  readonly summary: string
}

const hour = 3_600_000

/** Whole numbers of a relay, by their key in the file. */
export const relayNumbers = {
  batchSize: {
    min: 1,
    max: 100_000,
    variable: 'OUTRIDER_BATCH_SIZE',
    flag: 'batch-size',
    summary: 'most messages of a lane at the broker at once',
  },
  maxInFlight: {
    min: 1,
    max: 1_000_000,
    variable: 'OUTRIDER_MAX_IN_FLIGHT',
    flag: 'max-in-flight',
    summary: 'most messages of a lane handed out and not settled',
  },
  maxBytes: {
    min: 1,
    max: 1 << 30,
    variable: 'OUTRIDER_MAX_BYTES',
    flag: 'max-bytes',
    summary: 'bytes of payload after which a read ends',
  },
  leaseMs: {
    min: 100,
    max: hour,
    variable: 'OUTRIDER_LEASE_MS',
    flag: 'lease-ms',
    summary: 'how long a lane stays with a relay that went silent',
  },
} as const satisfies Record<string, NumberSetting>

/** Whole numbers of the process. */
export const processNumbers = {
  graceMs: { min: 0, max: hour, variable: 'OUTRIDER_GRACE_MS', flag: 'grace-ms', summary: 'how long a stop waits for what is in flight' },
} as const satisfies Record<string, NumberSetting>

export const policyNumbers = {
  maxAttempts: { min: 1, max: 1_000_000 },
  firstDelayMs: { min: 1, max: hour },
  maxDelayMs: { min: 1, max: 24 * hour },
} as const

export const logLevels = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof logLevels)[number]
export const logFormats = ['text', 'json'] as const
export type LogFormat = (typeof logFormats)[number]

export function expectedWhole(limits: { readonly min: number; readonly max: number }): string {
  return `a whole number from ${limits.min} to ${limits.max}`
}

/** @returns undefined when the value will do */
export function wholeProblem(where: string, value: unknown, limits: { readonly min: number; readonly max: number }): Problem | undefined {
  if (Number.isInteger(value) && (value as number) >= limits.min && (value as number) <= limits.max) return undefined
  return { where, got: shown(value), expected: expectedWhole(limits) }
}

/** The whole number in a variable, undefined when it isn't set or is a problem (which goes to `problems`). */
export function wholeFrom(environment: Environment, setting: NumberSetting, problems: Problem[]): number | undefined {
  const text = textFrom(environment, setting.variable, problems)
  if (text === undefined) return undefined
  const parsed = parseNumber(setting.variable, text)
  const problem = wholeProblem(setting.variable, typeof parsed === 'number' ? parsed : text, setting)
  if (problem === undefined) return parsed as number
  problems.push(problem)
  return undefined
}

export function textFrom(environment: Environment, name: string, problems: Problem[]): string | undefined {
  const { value, problem } = lookUp(name, environment)
  if (problem !== undefined) problems.push(problem)
  return value
}

/** One of a few words in a variable, undefined when it isn't set or is a problem. */
export function choiceFrom<C extends string>(
  environment: Environment,
  name: string,
  choices: readonly C[],
  problems: Problem[],
): C | undefined {
  const text = textFrom(environment, name, problems)
  const choice = choices.find((c) => c === text)
  if (text !== undefined && choice === undefined) problems.push({ where: name, got: shown(text), expected: `one of ${choices.join(', ')}` })
  return choice
}
