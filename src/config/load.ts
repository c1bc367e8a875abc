// From flags, environment, file and defaults, in this order, to what a process runs with.
import { existsSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isOutriderError, textOf, type Publisher, type RetryPolicy, type Source } from '../core/index.ts'
import { problemsOf, type Config, type RelayConfig } from './define.ts'
import type { Environment } from './env.ts'
import { publisherFromEnvironment, sourceFromEnvironment } from './from-environment.ts'
import { gather, ProblemsError, type Problem } from './problems.ts'
import {
  choiceFrom,
  logFormats,
  logLevels,
  processNumbers,
  relayNumbers,
  textFrom,
  wholeFrom,
  type LogFormat,
  type LogLevel,
  type NumberSetting,
} from './settings.ts'

/** Settings given as flags: they win over everything. */
export interface Overrides {
  readonly batchSize?: number | undefined
  readonly maxInFlight?: number | undefined
  readonly maxBytes?: number | undefined
  readonly leaseMs?: number | undefined
  readonly graceMs?: number | undefined
  readonly logLevel?: LogLevel | undefined
  readonly logFormat?: LogFormat | undefined
}

export interface LoadRequest {
  readonly cwd: string
  readonly environment: Environment
  /** File named by the person; without it, `outrider.config.ts`, `.mjs` or `.js` in `cwd` when there is one. */
  readonly file?: string | undefined
  readonly overrides?: Overrides
}

/** One relay, ready to be made. */
export interface RelayPlan {
  /** Its name under `relays`, null when there is one relay without a name. */
  readonly name: string | null
  /** What `createRelay` takes. */
  readonly options: RelayConfig & { readonly source: Source; readonly publisher: Publisher }
}

export interface LoadedConfig {
  /** Path of the file, null when there was none. */
  readonly file: string | null
  readonly relays: readonly RelayPlan[]
  readonly graceMs: number
  readonly log: { readonly level: LogLevel; readonly format: LogFormat }
}

export const configFiles = ['outrider.config.ts', 'outrider.config.mjs', 'outrider.config.js'] as const
const defaults = { graceMs: 10_000, level: 'info', format: 'text' } as const

/** @throws OutriderError CONFIG_INVALID with every problem of the file, the environment and what is missing in both */
export async function loadConfig(request: LoadRequest): Promise<LoadedConfig> {
  const { environment, overrides = {} } = request
  const problems: Problem[] = []
  const file = findFile(request, problems)
  const config = file === null ? {} : await importFile(file, problems)
  const stop = (): never => {
    throw new ProblemsError('CONFIG_INVALID', file === null ? 'The configuration' : basename(file), problems, {
      hint: 'docs/configuration.md lists every setting.',
    })
  }
  if (config === null) return stop()

  const whole = (flag: number | undefined, setting: NumberSetting): number | undefined => {
    // The variable is read even where a flag wins: a wrong one is a problem all the same.
    const variable = wholeFrom(environment, setting, problems)
    return flag ?? variable
  }
  const batchSize = whole(overrides.batchSize, relayNumbers.batchSize)
  const maxInFlight = whole(overrides.maxInFlight, relayNumbers.maxInFlight)
  const maxBytes = whole(overrides.maxBytes, relayNumbers.maxBytes)
  const leaseMs = whole(overrides.leaseMs, relayNumbers.leaseMs)
  const graceMs = whole(overrides.graceMs, processNumbers.graceMs) ?? config.graceMs ?? defaults.graceMs
  const levelVariable = choiceFrom(environment, 'LOG_LEVEL', logLevels, problems)
  const formatVariable = choiceFrom(environment, 'LOG_FORMAT', logFormats, problems)
  const level = overrides.logLevel ?? levelVariable ?? config.log?.level ?? defaults.level
  const format = overrides.logFormat ?? formatVariable ?? config.log?.format ?? defaults.format

  const named: [string | null, RelayConfig][] = config.relays === undefined ? [[null, {}]] : Object.entries(config.relays)
  const plugs = new Plugs(config, environment, problems)
  const relays: RelayPlan[] = []
  for (const [name, own] of named) {
    const { source, publisher } = await plugs.of(name, own)
    if (source === null || publisher === null) continue
    const policy: Partial<RetryPolicy> = { ...config.policy, ...own.policy }
    relays.push({
      name,
      options: {
        source,
        publisher,
        policy: Object.keys(policy).length === 0 ? undefined : policy,
        batchSize: batchSize ?? own.batchSize ?? config.batchSize,
        maxInFlight: maxInFlight ?? own.maxInFlight ?? config.maxInFlight,
        maxBytes: maxBytes ?? own.maxBytes ?? config.maxBytes,
        leaseMs: leaseMs ?? own.leaseMs ?? config.leaseMs,
      },
    })
  }
  return problems.length > 0 ? stop() : { file, relays, graceMs, log: { level, format } }
}

/** Finds each relay's source and publisher. No two relays share one: both keep what they know by lane. */
class Plugs {
  readonly #config: Config
  readonly #environment: Environment
  readonly #problems: Problem[]
  readonly #taken = new Set<Source | Publisher>()
  #sourceMissing = false
  #publisherMissing = false

  constructor(config: Config, environment: Environment, problems: Problem[]) {
    this.#config = config
    this.#environment = environment
    this.#problems = problems
  }

  async of(name: string | null, own: RelayConfig): Promise<{ source: Source | null; publisher: Publisher | null }> {
    const where = name === null ? '' : `relays.${name}.`
    const source =
      own.source ?? this.#config.source ?? (this.#sourceMissing ? null : await sourceFromEnvironment(this.#environment, this.#problems))
    const publisher =
      own.publisher ??
      this.#config.publisher ??
      (this.#publisherMissing ? null : await publisherFromEnvironment(this.#environment, this.#problems))
    // Told once, not once a relay.
    this.#sourceMissing ||= source === null
    this.#publisherMissing ||= publisher === null
    this.#take(`${where}source`, source)
    this.#take(`${where}publisher`, publisher)
    return { source, publisher }
  }

  #take(where: string, plug: Source | Publisher | null): void {
    if (plug === null) return
    if (this.#taken.has(plug)) this.#problems.push({ where, got: 'the one of another relay', expected: 'one of its own' })
    this.#taken.add(plug)
  }
}

function findFile(request: LoadRequest, problems: Problem[]): string | null {
  const named = request.file ?? textFrom(request.environment, 'OUTRIDER_CONFIG', problems)
  if (named !== undefined) {
    const path = resolve(request.cwd, named)
    if (existsSync(path)) return path
    problems.push({
      where: request.file === undefined ? 'OUTRIDER_CONFIG' : '--config',
      got: `${path}, which is not there`,
      expected: 'a file',
    })
    return null
  }
  const found = configFiles.map((name) => join(request.cwd, name)).filter((path) => existsSync(path))
  if (found.length > 1) {
    problems.push({ where: request.cwd, got: found.map((path) => basename(path)).join(' and '), expected: 'one of them, or --config FILE' })
  }
  return found[0] ?? null
}

/** @returns null when there is nothing to go on with */
async function importFile(file: string, problems: Problem[]): Promise<Config | null> {
  const outcome = await gather(async () => ((await import(pathToFileURL(file).href)) as { default?: unknown }).default)
  problems.push(...outcome.problems)
  if ('error' in outcome) {
    // A value that stood in for a missing variable may be what the file stumbled over: then only the variable is worth telling.
    if (outcome.problems.length === 0) problems.push(importProblem(file, outcome.error))
    return null
  }
  const found = problemsOf(outcome.value)
  problems.push(...found)
  return typeof outcome.value === 'object' && outcome.value !== null && found.length === 0 ? outcome.value : null
}

function importProblem(file: string, error: unknown): Problem {
  const where = basename(file)
  if (isOutriderError(error))
    return { where, got: error.message.replace(/\s+/g, ' ').trim(), expected: error.hint ?? 'a setting that will do' }
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const expected =
    code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX'
      ? 'TypeScript that Node can strip (no enums, namespaces or parameter properties)'
      : code === 'ERR_UNKNOWN_FILE_EXTENSION'
        ? 'a Node that strips types (22.18 or later), or a .mjs file'
        : code === 'ERR_MODULE_NOT_FOUND'
          ? 'imports that can be found from the file (npm install outrider)'
          : 'a module that can be imported'
  return { where, got: textOf(error).split('\n')[0] ?? '', expected }
}
