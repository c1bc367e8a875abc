import { readFileSync } from 'node:fs'
import { textOf } from '../core/index.ts'
import { nearest } from '../core/nearest.ts'
import { note, shown, type Problem } from './problems.ts'
import { isSecretName, rememberSecret } from './secrets.ts'

export type Environment = Readonly<Record<string, string | undefined>>

const what = 'The environment'

/**
 * What a variable holds, its `NAME_FILE` followed; `undefined` when neither is set. An empty variable counts as not set.
 *
 * @param isSecret is it masked in all output from now on?
 */
export function lookUp(
  name: string,
  environment: Environment,
  isSecret: (isFile: boolean) => boolean = () => isSecretName(name),
): { value: string | undefined; problem?: Problem } {
  const set = (n: string) => (environment[n] === '' ? undefined : environment[n])
  const direct = set(name)
  const fileName = `${name}_FILE`
  const file = set(fileName)
  if (file === undefined) {
    if (direct !== undefined && isSecret(false)) rememberSecret(direct)
    return { value: direct }
  }
  if (direct !== undefined) {
    return { value: direct, problem: { where: name, got: `both ${name} and ${fileName}`, expected: 'one of them' } }
  }
  try {
    const value = readFileSync(file, 'utf8').replace(/\r?\n$/, '')
    if (value === '')
      return { value: undefined, problem: { where: fileName, got: `an empty file ${shown(file)}`, expected: 'a value in it' } }
    if (isSecret(true)) rememberSecret(value)
    return { value }
  } catch (error) {
    return { value: undefined, problem: { where: fileName, got: textOf(error), expected: 'a file that can be read' } }
  }
}

function read<T>(name: string, fallback: T | undefined, stand: T, parse: (text: string) => T | Omit<Problem, 'where'>): T {
  // A text that is kept in a file is kept there because it is a secret; a number or a list of hosts is not.
  const isText = typeof stand === 'string'
  const { value, problem } = lookUp(name, process.env, (isFile) => isSecretName(name) || (isFile && isText))
  if (problem !== undefined) {
    note(what, problem)
    return stand
  }
  if (value === undefined) {
    if (fallback !== undefined) return fallback
    note(what, {
      where: name,
      got: 'nothing',
      expected: `the variable ${name} (or ${name}_FILE)`,
      meant: nearest(name, Object.keys(process.env)),
    })
    return stand
  }
  const parsed = parse(value)
  if (isProblem(parsed)) {
    note(what, { where: name, ...parsed })
    return stand
  }
  return parsed
}

function isProblem(value: unknown): value is Omit<Problem, 'where'> {
  return typeof value === 'object' && value !== null && 'expected' in value
}

export function parseNumber(name: string, text: string): number | Omit<Problem, 'where'> {
  const got = isSecretName(name) ? 'a text' : shown(text)
  const number = Number(text)
  return /^[+-]?\d+(\.\d+)?$/.test(text.trim()) && Number.isFinite(number) ? number : { got, expected: 'a number such as 500 or 0.5' }
}

export function parseBoolean(name: string, text: string): boolean | Omit<Problem, 'where'> {
  if (text === 'true' || text === '1') return true
  if (text === 'false' || text === '0') return false
  return { got: isSecretName(name) ? 'a text' : shown(text), expected: 'true or false (1 and 0 will do)' }
}

export function parseList(text: string): string[] | Omit<Problem, 'where'> {
  const items = text.split(',').map((item) => item.trim())
  if (items.length > 1 && items.at(-1) === '') items.pop()
  return items.includes('') ? { got: 'an empty item', expected: 'items between commas, such as a:9092,b:9092' } : items
}

/**
 * The environment variable `name`, or what is in the file that `NAME_FILE` names (for secrets mounted as files; one line end is cut).
 * An empty variable counts as not set.
 *
 * @param fallback what holds when it isn't set; without one that is a problem
 * @throws OutriderError CONFIG_INVALID; while the command line loads a configuration file, all problems are told together instead
 */
export function env(name: string, fallback?: string): string {
  return read(name, fallback, `${name}-is-not-set`, (text) => text)
}

/** A comma-separated variable: `KAFKA_BROKERS=a:9092,b:9092`. Otherwise like `env`. */
env.list = (name: string, fallback?: readonly string[]): string[] =>
  read(name, fallback === undefined ? undefined : [...fallback], ['not-set:1'], (text) => parseList(text))

/** A variable with a decimal number. Otherwise like `env`. */
env.number = (name: string, fallback?: number): number => read(name, fallback, 1, (text) => parseNumber(name, text))

/** A variable that says `true` or `false` (or 1, 0); anything else is a problem. Otherwise like `env`. */
env.boolean = (name: string, fallback?: boolean): boolean => read(name, fallback, false, (text) => parseBoolean(name, text))
