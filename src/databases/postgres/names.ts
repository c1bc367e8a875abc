import { OutriderError } from '../../core/index.ts'

/** Where the outbox lives. */
export interface OutboxNames {
  /** @default 'outrider' */
  readonly schema?: string | undefined
  /** Table of the outbox; its neighbours are named after it (`outbox_position`). @default 'outbox' */
  readonly table?: string | undefined
  /** Table of the inbox. @default 'inbox' */
  readonly inbox?: string | undefined
}

export const defaultNames = { schema: 'outrider', table: 'outbox', inbox: 'inbox' } as const

/** Longest name that PostgreSQL keeps whole: 63 bytes. */
const longestName = 63
const neighbours = ['meta', 'position', 'gap', 'lease', 'relay', 'parked', 'progress', 'audit', 'seq_seq'] as const
export type Neighbour = (typeof neighbours)[number]

/** Quotes a name for SQL, whatever is in it. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** Quotes text as an SQL literal. For statements that can't take parameters (DDL). */
export function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** Checked and quoted names of one outbox. Throws CONFIG_INVALID for names that PostgreSQL would cut. */
export function namesOf(names: OutboxNames = {}) {
  const { schema, table, inbox } = {
    schema: names.schema ?? defaultNames.schema,
    table: names.table ?? defaultNames.table,
    inbox: names.inbox ?? defaultNames.inbox,
  }
  const longest = Math.max(...neighbours.map((n) => n.length)) + 1
  for (const [what, name, limit] of [
    ['schema', schema, longestName],
    ['table', table, longestName - longest],
    ['inbox', inbox, longestName],
  ] as const) {
    if (name.length === 0 || Buffer.byteLength(name) > limit || name.includes('\u0000')) {
      throw new OutriderError('CONFIG_INVALID', `The name of the ${what} is ${JSON.stringify(name)}: it must have 1 to ${limit} bytes.`, {
        hint: 'PostgreSQL cuts longer names silently. Choose a shorter one.',
      })
    }
  }
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
