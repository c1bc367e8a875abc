// From the words of a command line to an exit code: finds the command, parses its flags, prints what it comes to.
import { readFileSync } from 'node:fs'
import { nearest } from '../core/nearest.ts'
import { ProblemsError, shown } from '../config/problems.ts'
import type { Command, ExitCode, Io, Outcome } from './frame/command.ts'
import { exitCodeOf } from './frame/exit-code.ts'
import { commonFlags, parseFlags } from './frame/flags.ts'
import { errorDocument, errorText, toJson } from './frame/print-error.ts'
import { commandHelp, overview } from './help.ts'
import { commands, type Entry } from './registry.ts'

/** Runs one command line. Never throws; all that was to be told has been printed. */
export async function runCommandLine(argv: readonly string[], io: Io): Promise<ExitCode> {
  // Before the flags are known to be right, an error must already know where to go.
  const json = argv.some(isJson)
  let givesData = false
  try {
    const found = await findCommand(argv)
    if (found.kind === 'outcome') return await print(found.outcome, json, io)
    const { entry, command, rest } = found
    givesData = command.givesData ?? false
    const flags = { ...command.flags, ...commonFlags }
    const parsed = parseFlags(rest, flags, command.operands ?? [], `outrider ${entry.name}`)
    if (parsed.flags['help'] === true) {
      const text = commandHelp(entry, command)
      return await print({ kind: 'result', document: { command: entry.name, help: text }, text }, json, io)
    }
    const outcome = await command.run({ flags: parsed.flags, operands: parsed.operands, json: parsed.flags['json'] === true, io })
    return await print(outcome, parsed.flags['json'] === true, io)
  } catch (error) {
    if (isBrokenPipe(error)) return 0
    io.err(json && givesData ? toJson(errorDocument(error)) : errorText(error, (text) => io.bold(text)))
    if (json && !givesData) await io.out(`${toJson(errorDocument(error))}\n`).catch(() => undefined)
    return exitCodeOf(error)
  }
}

type Found = { kind: 'command'; entry: Entry; command: Command; rest: readonly string[] } | { kind: 'outcome'; outcome: Outcome }

async function findCommand(argv: readonly string[]): Promise<Found> {
  const { words, rest } = split(argv)
  const [first] = words
  if (first === undefined) {
    const flag = rest.find((word) => !isJson(word))
    if (flag === '--version') return result({ version: version() }, version())
    if (flag === undefined || flag === '--help' || flag === '-h') return help([])
    const meant = nearest(flag.replace(/^-+/, ''), ['json', 'help', 'version'])
    throw usage(flag, 'an unknown flag', 'a command first', meant === undefined ? undefined : `--${meant}`)
  }
  if (first === 'help') return help(words.slice(1))
  const entry = entryOf(words)
  const { command } = await entry.load()
  return { kind: 'command', entry, command, rest: [...words.slice(entry.name.split(' ').length), ...rest] }
}

/** The words that an argument list begins with, and the rest. `--json` may stand among them. */
function split(argv: readonly string[]): { words: string[]; rest: string[] } {
  const end = argv.findIndex((word) => word.startsWith('-') && !isJson(word))
  const lead = end === -1 ? argv : argv.slice(0, end)
  return { words: lead.filter((word) => !isJson(word)), rest: [...lead.filter(isJson), ...argv.slice(lead.length)] }
}

function isJson(word: string): boolean {
  return word === '--json' || word === '--json=true'
}

async function help(words: readonly string[]): Promise<Found> {
  if (words.length === 0) {
    return result({ version: version(), commands: commands.map(({ name, summary }) => ({ name, summary })) }, overview(version()))
  }
  const entry = entryOf(words)
  const extra = words[entry.name.split(' ').length]
  if (extra !== undefined) throw usage(shown(extra), 'one word too many', `outrider help ${entry.name}`)
  const text = commandHelp(entry, (await entry.load()).command)
  return result({ command: entry.name, help: text }, text)
}

function result(document: unknown, text: string): Found {
  return { kind: 'outcome', outcome: { kind: 'result', document, text } }
}

/** The longest command that the words begin with. */
function entryOf(words: readonly string[]): Entry {
  const two = words.slice(0, 2).join(' ')
  const entry = commands.find((c) => c.name === two) ?? commands.find((c) => c.name === words[0])
  if (entry !== undefined) return entry
  const names = commands.map((c) => c.name)
  const group = names.filter((name) => name.startsWith(`${words[0]} `))
  if (group.length > 0) {
    const got = words[1] === undefined ? 'nothing after it' : `the unknown command ${shown(words[1])}`
    throw usage(`outrider ${words[0]}`, got, `one of ${group.join(', ')}`, nearest(two, group))
  }
  throw usage(
    'outrider',
    `the unknown command ${shown(words[0])}`,
    `one of ${names.join(', ')}`,
    nearest(words[0] ?? '', names) ?? nearest(two, names),
  )
}

function usage(where: string, got: string, expected: string, meant?: string): ProblemsError {
  return new ProblemsError('USAGE', 'The command line', [{ where, got, expected, meant }], { hint: 'outrider help' })
}

async function print(outcome: Outcome, json: boolean, io: Io): Promise<ExitCode> {
  if (outcome.kind === 'data') {
    for (const chunk of outcome.chunks) await io.out(chunk)
    return 0
  }
  const text = json ? toJson(outcome.document) : outcome.text
  if (text !== '') await io.out(text.endsWith('\n') ? text : `${text}\n`)
  return outcome.code ?? 0
}

/** A reader that went away (`| head`) is no failure of ours. */
function isBrokenPipe(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EPIPE'
}

function version(): string {
  const file = new URL('../../package.json', import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}
