// From the words after `npm run bench --` to a benchmark's result on standard output.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Io } from '../../src/cli/frame/command.ts'
import { exitCodeOf } from '../../src/cli/frame/exit-code.ts'
import { commonFlags, flagLines, parseFlags } from '../../src/cli/frame/flags.ts'
import { errorDocument, errorText, toJson } from '../../src/cli/frame/print-error.ts'
import { nearest } from '../../src/core/nearest.ts'
import { ProblemsError, shown } from '../../src/config/problems.ts'
import type { Bench } from './bench.ts'
import { tableOf } from './table.ts'

/**
 * @param folder where the benchmarks are: each `NAME.ts` in it but `main.ts`
 * @returns the exit code
 */
export async function runBench(argv: readonly string[], io: Io, folder: string): Promise<number> {
  const json = argv.includes('--json')
  try {
    return await run(argv, io, folder)
  } catch (error) {
    io.err(errorText(error, (text) => io.bold(text)))
    if (json) await io.out(`${toJson(errorDocument(error))}\n`)
    return exitCodeOf(error)
  }
}

async function run(argv: readonly string[], io: Io, folder: string): Promise<number> {
  const names = namesIn(folder)
  const wanted = argv.find((word) => !word.startsWith('-'))
  const { flags } = parseFlags(argv, commonFlags, wanted === undefined ? [] : ['NAME'], 'bench')
  if (wanted === undefined || flags['help'] === true) {
    const benches = await Promise.all(names.map(async (name) => ({ name, summary: (await load(folder, name)).summary })))
    const list = benches.map(({ name, summary }) => `  ${name}  ${summary}`)
    const text = [
      'Usage: npm run bench -- NAME [--json]',
      '',
      ...(list.length === 0 ? ['  no benchmark yet'] : list),
      '',
      ...flagLines(commonFlags),
    ]
    await io.out(flags['json'] === true ? `${toJson({ benches })}\n` : `${text.join('\n')}\n`)
    return 0
  }
  if (!names.includes(wanted)) {
    const expected = names.length === 0 ? 'a benchmark (there is none yet)' : `one of ${names.join(', ')}`
    const problem = { where: 'NAME', got: `the unknown benchmark ${shown(wanted)}`, expected, meant: nearest(wanted, names) }
    throw new ProblemsError('USAGE', 'The command line', [problem])
  }
  const bench = await load(folder, wanted)
  const stop = new AbortController()
  const forget = io.onStopSignal(() => stop.abort())
  try {
    const result = await bench.run({ progress: (text) => io.err(text), signal: stop.signal })
    check(wanted, result)
    await io.out(flags['json'] === true ? `${toJson({ bench: wanted, ...result })}\n` : `${tableOf(wanted, result)}\n`)
    return 0
  } finally {
    forget()
  }
}

function namesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && /^[\w-]+\.ts$/.test(entry.name) && entry.name !== 'main.ts')
    .map((entry) => entry.name.slice(0, -'.ts'.length))
    .toSorted()
}

async function load(folder: string, name: string): Promise<Bench> {
  const module = (await import(pathToFileURL(join(folder, `${name}.ts`)).href)) as { bench?: Partial<Bench> }
  if (typeof module.bench?.summary !== 'string' || typeof module.bench.run !== 'function') {
    throw new Error(`bench/${name}.ts exports no \`bench\` with a summary and a run.`)
  }
  return module.bench as Bench
}

/** A figure that is no number would turn into null in JSON, and a comparison with it into nonsense. */
function check(name: string, result: { figures: object; ratios: object }): void {
  for (const group of ['figures', 'ratios'] as const) {
    for (const [key, value] of Object.entries(result[group])) {
      if (!Number.isFinite(value)) throw new Error(`bench ${name}: ${group}.${key} is ${String(value)}, not a number.`)
    }
  }
}
