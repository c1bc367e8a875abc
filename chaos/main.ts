// `npm run chaos -- --seconds N --seed S [...]`: the frame of the random fault run. Its flags are settled; the run itself isn't here yet, and this says so.
import { processIo } from '../src/cli/frame/process-io.ts'
import type { Io } from '../src/cli/frame/command.ts'
import { commonFlags, flagLines, parseFlags, type Flags } from '../src/cli/frame/flags.ts'
import { errorDocument, errorText, toJson } from '../src/cli/frame/print-error.ts'
import { OutriderError } from '../src/core/index.ts'

const flags = {
  seconds: { kind: 'number', value: 'N', min: 1, max: 86_400, summary: 'how long faults happen (required)' },
  seed: { kind: 'number', value: 'S', min: 0, max: 4_294_967_295, summary: 'the same seed gives the same faults (required)' },
  source: { kind: 'choice', choices: ['log', 'wal', 'claim'], summary: 'how the relay reads (default log)' },
  break: { kind: 'text', value: 'RULE', summary: 'leave out one rule on purpose: the run must then find the damage' },
  relays: { kind: 'number', value: 'N', min: 1, max: 64, summary: 'relays at once (default 1)' },
  lanes: { kind: 'number', value: 'N', min: 1, max: 1024, summary: 'lanes of the outbox (default 8)' },
} as const satisfies Flags

async function main(argv: readonly string[], io: Io): Promise<number> {
  const json = argv.includes('--json')
  try {
    const all = { ...flags, ...commonFlags }
    const parsed = parseFlags(argv, all, [], 'chaos')
    if (parsed.flags['help'] === true) {
      const lines = [
        'Usage: npm run chaos -- --seconds N --seed S [flags]',
        '',
        'Not part of this version: only its flags are checked.',
        '',
        ...flagLines(all),
      ]
      await io.out(json ? `${toJson({ help: lines.join('\n') })}\n` : `${lines.join('\n')}\n`)
      return 0
    }
    for (const name of ['seconds', 'seed']) {
      if (parsed.flags[name] === undefined)
        throw new OutriderError('USAGE', `--${name} is missing. Nothing was run.`, { hint: 'npm run chaos -- --help' })
    }
    throw new OutriderError('USAGE', 'The chaos run is not part of this version of Outrider: no fault was made and nothing was checked.', {
      hint: 'Faults are tested by `npm test`: the files in test/acceptance.',
    })
  } catch (error) {
    io.err(errorText(error, (text) => io.bold(text)))
    if (json) await io.out(`${toJson(errorDocument(error))}\n`)
    return 2
  }
}

void main(process.argv.slice(2), processIo()).then((code) => {
  process.exitCode = code
})
