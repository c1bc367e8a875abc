import type { Publisher, RetryPolicy, Source } from '../core/index.ts'
import { nearest } from '../core/nearest.ts'
import { kindOf, ProblemsError, shared, shown, type Problem } from './problems.ts'
import {
  logFormats,
  logLevels,
  processNumbers,
  relayNumbers,
  policyNumbers,
  wholeProblem,
  type LogFormat,
  type LogLevel,
} from './settings.ts'

/** What one relay reads from, writes to, and how. */
export interface RelayConfig {
  /** Where messages come from: `postgres({ url: env('DATABASE_URL') })`. @default `postgres` with the variable DATABASE_URL */
  readonly source?: Source
  /** Where they go: `kafka({ brokers: env.list('KAFKA_BROKERS') })`. @default `kafka` with the variable KAFKA_BROKERS */
  readonly publisher?: Publisher
  /** Most messages of a lane at the broker at once. @default 500 */
  readonly batchSize?: number
  /** Most messages of a lane handed out and not settled; after a crash at most lanes x this are sent again. @default 1000 */
  readonly maxInFlight?: number
  /** Bytes of payload after which a read ends. @default 8388608 */
  readonly maxBytes?: number
  /** How long a lane stays with a relay that went silent, in milliseconds; at least twice the publisher's timeout. @default 30000 */
  readonly leaseMs?: number
  /** How refused messages are tried again. */
  readonly policy?: Partial<RetryPolicy>
}

/** What `outrider.config.ts` exports. */
export interface Config extends RelayConfig {
  /** Several outboxes or brokers: one relay each, by name, in one process. What is said beside `relays` holds for all of them. */
  readonly relays?: Readonly<Record<string, RelayConfig>>
  /** How long a stop waits for what is in flight, in milliseconds. @default 10000 */
  readonly graceMs?: number
  readonly log?: {
    /** Least level that is written. @default 'info' */
    readonly level?: LogLevel
    /** `text` is a line for people, `json` one JSON object a line. @default 'text' */
    readonly format?: LogFormat
  }
}

const relayKeys = ['source', 'publisher', 'policy', ...Object.keys(relayNumbers)]
const configKeys = [...relayKeys, 'relays', 'log', ...Object.keys(processNumbers)]

/**
 * Checks a configuration and gives it back; for its types and for early errors.
 *
 * @throws OutriderError CONFIG_INVALID with every problem, each with what was got and what was expected
 */
export function defineConfig(config: Config): Config {
  // The loader checks by itself, so that problems of the environment stand beside those of the file.
  if (shared().gathering !== null) return config
  const problems = problemsOf(config)
  if (problems.length > 0) throw new ProblemsError('CONFIG_INVALID', 'The configuration', problems)
  return config
}

/** Everything that is wrong with the shape of a configuration. */
export function problemsOf(config: unknown): Problem[] {
  if (!isObject(config)) return [{ where: 'export default', got: kindOf(config), expected: 'defineConfig({ source, publisher })' }]
  const problems: Problem[] = []
  relayProblems('', config, configKeys, problems)
  for (const [key, limits] of Object.entries(processNumbers)) numberProblem(key, config[key], limits, problems)
  const { relays, log } = config
  if (log !== undefined) logProblems(log, problems)
  if (relays === undefined) return problems
  if (!isObject(relays) || Object.keys(relays).length === 0) {
    problems.push({ where: 'relays', got: isObject(relays) ? 'no relay' : kindOf(relays), expected: '{ name: { source, publisher } }' })
    return problems
  }
  for (const [name, relay] of Object.entries(relays)) {
    if (!/^[\w.-]+$/.test(name))
      problems.push({ where: `relays.${name}`, got: shown(name), expected: 'a name of letters, digits, _ . and -' })
    if (isObject(relay)) relayProblems(`relays.${name}.`, relay, relayKeys, problems)
    else problems.push({ where: `relays.${name}`, got: kindOf(relay), expected: '{ source, publisher }' })
  }
  return problems
}

function relayProblems(prefix: string, relay: Record<string, unknown>, keys: readonly string[], problems: Problem[]): void {
  unknownKeys(prefix, relay, keys, problems)
  const { source, publisher, policy } = relay
  if (source !== undefined && !has(source, ['open', 'read', 'settle', 'close'])) {
    problems.push({ where: `${prefix}source`, got: kindOf(source), expected: 'a source, such as postgres({ url })' })
  }
  if (publisher !== undefined && !has(publisher, ['publish', 'check', 'close'])) {
    problems.push({ where: `${prefix}publisher`, got: kindOf(publisher), expected: 'a publisher, such as kafka({ brokers })' })
  }
  for (const [key, limits] of Object.entries(relayNumbers)) numberProblem(prefix + key, relay[key], limits, problems)
  if (policy === undefined) return
  if (!isObject(policy)) {
    problems.push({ where: `${prefix}policy`, got: kindOf(policy), expected: '{ maxAttempts, firstDelayMs, maxDelayMs }' })
    return
  }
  unknownKeys(`${prefix}policy.`, policy, Object.keys(policyNumbers), problems)
  for (const [key, limits] of Object.entries(policyNumbers)) numberProblem(`${prefix}policy.${key}`, policy[key], limits, problems)
}

function logProblems(log: unknown, problems: Problem[]): void {
  if (!isObject(log)) {
    problems.push({ where: 'log', got: kindOf(log), expected: '{ level, format }' })
    return
  }
  unknownKeys('log.', log, ['level', 'format'], problems)
  choiceProblem('log.level', log['level'], logLevels, problems)
  choiceProblem('log.format', log['format'], logFormats, problems)
}

function unknownKeys(prefix: string, value: Record<string, unknown>, keys: readonly string[], problems: Problem[]): void {
  for (const key of Object.keys(value)) {
    if (keys.includes(key)) continue
    problems.push({ where: prefix + key, got: 'an unknown setting', expected: `one of ${keys.join(', ')}`, meant: nearest(key, keys) })
  }
}

function numberProblem(where: string, value: unknown, limits: { min: number; max: number }, problems: Problem[]): void {
  const problem = value === undefined ? undefined : wholeProblem(where, value, limits)
  if (problem !== undefined) problems.push(problem)
}

function choiceProblem(where: string, value: unknown, choices: readonly string[], problems: Problem[]): void {
  if (value === undefined || choices.includes(value as string)) return
  const meant = typeof value === 'string' ? nearest(value, choices) : undefined
  problems.push({ where, got: shown(value), expected: `one of ${choices.join(', ')}`, meant })
}

function has(value: unknown, methods: readonly string[]): boolean {
  return typeof value === 'object' && value !== null && methods.every((m) => typeof (value as Record<string, unknown>)[m] === 'function')
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Promise)
}
