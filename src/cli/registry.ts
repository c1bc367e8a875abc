// The commands. A new one is a file in commands/ and a line here.
import type { Command } from './frame/command.ts'

export interface Entry {
  /** One word or two. */
  readonly name: string
  readonly summary: string
  /** A literal import, run only when the command is used. */
  load(): Promise<{ readonly command: Command }>
}

export const commands: readonly Entry[] = [
  {
    name: 'migrate',
    summary: 'create the outbox in PostgreSQL, or bring it to the current layout',
    load: () => import('./commands/migrate.ts'),
  },
  { name: 'relay', summary: 'carry messages from the outbox to the broker until told to stop', load: () => import('./commands/relay.ts') },
  { name: 'fixtures convert', summary: 'turn a CSV file into JSON payloads', load: () => import('./commands/fixtures-convert.ts') },
]
