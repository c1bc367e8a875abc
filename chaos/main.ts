// `npm run chaos -- --seconds N --seed S [flags]`: the whole line as processes on servers of its own, while faults happen at random.
import { processIo } from '../src/cli/frame/process-io.ts'
import type { Io } from '../src/cli/frame/command.ts'
import { exitCodeOf } from '../src/cli/frame/exit-code.ts'
import { commonFlags, flagLines, parseFlags, type Flags } from '../src/cli/frame/flags.ts'
import { errorDocument, errorText, toJson } from '../src/cli/frame/print-error.ts'
import { OutriderError } from '../src/core/index.ts'
import type { ChaosOptions } from './conductor.ts'
import { breakNames, faultKinds, type Break } from './kinds.ts'

const flags = {
  seconds: { kind: 'number', value: 'N', min: 1, max: 86_400, summary: 'how long faults happen (required)' },
  seed: { kind: 'number', value: 'S', min: 0, max: 4_294_967_295, summary: 'the same seed chooses the same faults (required)' },
  faults: { kind: 'text', value: 'KIND,KIND', summary: `which kinds, or none (default all): ${faultKinds.join(', ')}` },
  source: { kind: 'choice', choices: ['log', 'wal', 'claim', 'switch'], summary: 'how the relay reads (default log)' },
  break: { kind: 'text', value: 'RULE', summary: `leave out one rule on purpose, and the run finds the damage: ${breakNames.join(', ')}` },
  cases: { kind: 'text', value: 'RULE,RULE', summary: 'make happen what these rules are for, before the faults (default that of --break)' },
  relays: { kind: 'number', value: 'N', min: 1, max: 64, summary: 'relay processes (default 3)' },
  lanes: { kind: 'number', value: 'N', min: 1, max: 1024, summary: 'lanes of the outbox (default 8)' },
} as const satisfies Flags

async function main(argv: readonly string[], io: Io): Promise<number> {
  const json = argv.includes('--json')
  const stop = new AbortController()
  const forget = io.onStopSignal(() => stop.abort())
  try {
    const all = { ...flags, ...commonFlags }
    const parsed = parseFlags(argv, all, [], 'chaos').flags
    if (parsed['help'] === true) {
      const text = ['Usage: npm run chaos -- --seconds N --seed S [flags]', '', ...flagLines(all)].join('\n')
      await io.out(json ? `${toJson({ help: text })}\n` : `${text}\n`)
      return 0
    }
    const options: ChaosOptions = { ...optionsOf(parsed), progress: (line) => io.err(line), signal: stop.signal }
    // Loaded after the flags were looked at: they bring the servers and the drivers along.
    const { conduct } = await import('./conductor.ts')
    const { documentOf, problemsOf, textOf } = await import('./outcome.ts')
    const evidence = await conduct(options)
    await io.out(json ? `${toJson(documentOf(evidence))}\n` : `${textOf(evidence)}\n`)
    return problemsOf(evidence).length === 0 ? 0 : 1
  } catch (error) {
    if (stop.signal.aborted) {
      io.err('Stopped: all that was started is ended.')
      return 130
    }
    io.err(errorText(error, (text) => io.bold(text)))
    if (json) await io.out(`${toJson(errorDocument(error))}\n`)
    return exitCodeOf(error)
  } finally {
    forget()
  }
}

function optionsOf(given: Readonly<Record<string, string | number | boolean>>): Omit<ChaosOptions, 'progress' | 'signal'> {
  for (const name of ['seconds', 'seed']) {
    if (given[name] === undefined) throw usage(`--${name} is missing.`, 'npm run chaos -- --help')
  }
  const { source = 'log', break: broken } = given
  if (source !== 'log') throw usage(`--source ${source} is not part of this version of Outrider.`, 'Only the log can be read.')
  if (broken === 'park')
    throw usage('--break park is not part of this version of Outrider: it parks nothing.', `The rules are ${breakNames.join(', ')}.`)
  const breaks = broken === undefined ? [] : rulesOf('--break', String(broken))
  if (breaks.length > 1) throw usage('--break names more than one rule.', 'One safety at a time.')
  const cases = given['cases'] === undefined ? breaks : rulesOf('--cases', String(given['cases']))
  const asked = String(given['faults'] ?? faultKinds.join(','))
  const faults = asked === 'none' ? [] : asked.split(',')
  const unknown = faults.filter((kind) => !faultKinds.includes(kind))
  if (unknown.length > 0) throw usage(`--faults names ${unknown.join(', ')}.`, `The kinds are ${faultKinds.join(', ')}.`)
  return {
    seconds: Number(given['seconds']),
    seed: Number(given['seed']),
    relays: Number(given['relays'] ?? 3),
    lanes: Number(given['lanes'] ?? 8),
    faults,
    broken: breaks[0] ?? null,
    cases,
  }
}

function rulesOf(flag: string, text: string): Break[] {
  return text.split(',').map((word) => {
    const rule = breakNames.find((name) => name === word)
    if (rule === undefined) throw usage(`${flag} names ${word}.`, `The rules are ${breakNames.join(', ')}.`)
    return rule
  })
}

function usage(problem: string, hint: string): OutriderError {
  return new OutriderError('USAGE', `${problem} Nothing was run.`, { hint })
}

void main(process.argv.slice(2), processIo()).then((code) => {
  process.exitCode = code
})
