// From an error of PostgreSQL or of the connection to what it means for the relay.
import { OutriderError, isOutriderError, textOf } from '../../core/index.ts'

/** SQLSTATE of an error of the server, null for an error of the connection. */
export function sqlState(error: unknown): string | null {
  const code = error instanceof Error && 'code' in error ? error.code : null
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && 'severity' in (error as object) ? code : null
}

/** Errors that no new connection mends: somebody has to act. */
const final: Record<string, (text: string) => OutriderError> = {
  '42P01': (text) =>
    new OutriderError('SCHEMA_MISSING', `A table of the outbox is not there: ${text}.`, { hint: 'Create it: npx outrider migrate' }),
  '3F000': (text) =>
    new OutriderError('SCHEMA_MISSING', `The schema of the outbox is not there: ${text}.`, { hint: 'Create it: npx outrider migrate' }),
  '42703': (text) =>
    new OutriderError('SCHEMA_OUTDATED', `A column of the outbox is not there: ${text}.`, {
      hint: 'Bring it to the current layout: npx outrider migrate',
    }),
}

/** What a failed call of the source rejects with. Unknown errors count as a lost connection: to start anew from the rows is always safe. */
export function sourceError(error: unknown, address: string): OutriderError {
  if (isOutriderError(error)) return error
  const state = sqlState(error)
  const text = textOf(error)
  if (state !== null && final[state] !== undefined) return final[state](text)
  if (state === '42501') {
    if (text.includes('row-level security')) {
      return new OutriderError(
        'ROWS_HIDDEN',
        `Row-level security would hide rows of the outbox from this role (${text}). A hidden row would count as rolled back and be lost.`,
        {
          hint: 'Give the relay a role that sees every row: ALTER ROLE <relay role> BYPASSRLS;\n  Or switch it off: ALTER TABLE outrider.outbox DISABLE ROW LEVEL SECURITY;',
          cause: error,
        },
      )
    }
    return new OutriderError('SOURCE_FORBIDDEN', `The relay's role lacks a right: ${text}.`, {
      hint: 'GRANT USAGE ON SCHEMA outrider, SELECT on the outbox and its sequence, and SELECT, INSERT, UPDATE, DELETE on the tables beside it.',
      cause: error,
    })
  }
  return new OutriderError('SOURCE_LOST', `The connection to PostgreSQL at ${address} is of no use any more: ${text}.`, {
    hint: 'The relay connects again by itself and starts from what is stored.',
    retryable: true,
    cause: error,
  })
}

/** Host, port and database of a connection, without secrets. */
export function addressOf(connection: { connectionString?: string | undefined; [option: string]: unknown }): string {
  if (connection.connectionString !== undefined) {
    try {
      const url = new URL(connection.connectionString)
      return `${url.host}${url.pathname}`
    } catch {
      return 'the given connection string'
    }
  }
  const part = (name: string, fallback: string) => {
    const value = connection[name]
    return typeof value === 'string' || typeof value === 'number' ? String(value) : fallback
  }
  return `${part('host', 'localhost')}:${part('port', '5432')}/${part('database', '')}`
}
