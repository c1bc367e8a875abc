import type { Command } from './frame/command.ts'
import { commonFlags, flagLines } from './frame/flags.ts'
import { commands, type Entry } from './registry.ts'

export function overview(version: string): string {
  const width = Math.max(...commands.map((c) => c.name.length), 'help COMMAND'.length)
  const rows = [
    ...commands,
    { name: 'help COMMAND', summary: 'explain a command and its flags' },
    { name: '--version', summary: 'print the version' },
  ]
  return [
    `outrider ${version}: the transactional outbox for TypeScript`,
    '',
    'Usage: outrider COMMAND [flags]',
    '',
    ...rows.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`),
    '',
    'Every command takes --json: one JSON document on standard output, everything else on standard error.',
    "Exit codes: 0 done; 1 a check failed; 2 usage or configuration; 3 a server can't be reached.",
  ].join('\n')
}

export function commandHelp(entry: Entry, command: Command): string {
  const operands = (command.operands ?? []).map((name) => ` ${name}`).join('')
  return [
    `outrider ${entry.name}: ${entry.summary}`,
    '',
    `Usage: outrider ${entry.name}${operands} [flags]`,
    '',
    command.about,
    '',
    ...flagLines({ ...command.flags, ...commonFlags }),
  ].join('\n')
}
