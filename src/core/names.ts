import { OutriderError } from './error.ts'

export const defaultNames = { schema: 'outrider', table: 'outbox', inbox: 'inbox' } as const

/** Longest name that PostgreSQL keeps whole, in bytes. */
export const longestName = 63

/** Quotes a name for SQL, whatever is in it. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** Checks a name that goes into SQL. Throws CONFIG_INVALID for one that PostgreSQL would cut or refuse. */
export function checkName(what: string, name: string, limit: number = longestName): string {
  if (typeof name === 'string' && name.length > 0 && new TextEncoder().encode(name).length <= limit && !name.includes('\u0000')) return name
  throw new OutriderError('CONFIG_INVALID', `The name of the ${what} is ${JSON.stringify(name)}: it must have 1 to ${limit} bytes.`, {
    hint: 'PostgreSQL cuts longer names silently. Choose a shorter one.',
  })
}

/** The NOTIFY channel of an outbox: `outrider_outbox` by default. Two outboxes with one channel only wake each other's relays. */
export function channelOf(schema: string, table: string): string {
  const bytes = new TextEncoder().encode(`${schema}_${table}`)
  return new TextDecoder().decode(bytes.subarray(0, longestName)).replace(/\uFFFD+$/, '')
}
