import { checkName, defaultNames, longestName, quoteName } from '../../core/index.ts'

export { quoteName } from '../../core/index.ts'

/** Where the outbox lives. */
export interface OutboxNames {
  /** @default 'outrider' */
  readonly schema?: string | undefined
  /** Table of the outbox; its neighbours are named after it (`outbox_position`). @default 'outbox' */
  readonly table?: string | undefined
  /** Table of the inbox. @default 'inbox' */
  readonly inbox?: string | undefined
}

const neighbours = ['meta', 'position', 'gap', 'lease', 'relay', 'parked', 'progress', 'audit', 'seq_seq'] as const
export type Neighbour = (typeof neighbours)[number]

/** Quotes text as an SQL literal. For statements that can't take parameters (DDL). */
export function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** Checked and quoted names of one outbox. Throws CONFIG_INVALID for names that PostgreSQL would cut. */
export function namesOf(names: OutboxNames = {}) {
  const longest = Math.max(...neighbours.map((n) => n.length)) + 1
  const schema = checkName('schema', names.schema ?? defaultNames.schema)
  const table = checkName('table', names.table ?? defaultNames.table, longestName - longest)
  const inbox = checkName('inbox', names.inbox ?? defaultNames.inbox)
  const q = quoteName(schema)
  return {
    schema,
    table,
    quotedSchema: q,
    quotedTable: quoteName(table),
    outbox: `${q}.${quoteName(table)}`,
    inboxName: inbox,
    inbox: `${q}.${quoteName(inbox)}`,
    /** A table beside the outbox, qualified and quoted: `of('gap')` is `"outrider"."outbox_gap"`. */
    of: (neighbour: Neighbour) => `${q}.${quoteName(`${table}_${neighbour}`)}`,
  }
}

export type Names = ReturnType<typeof namesOf>
