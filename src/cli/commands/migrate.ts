import { lookUp } from '../../config/env.ts'
import { ProblemsError } from '../../config/problems.ts'
import { rememberSecret } from '../../config/secrets.ts'
import { isOutriderError, OutriderError, textOf } from '../../core/index.ts'
import { addressOf, sqlState } from '../../databases/postgres/classify.ts'
import { loadPg, type PgSession } from '../../databases/postgres/client.ts'
import { currentLayout, migrate, migrationSql } from '../../databases/postgres/index.ts'
import { namesOf } from '../../databases/postgres/names.ts'
import { defineCommand, type Io } from '../frame/command.ts'

export const command = defineCommand({
  about: [
    'Creates the outbox and the inbox in a schema of their own, or brings them to the layout of this version,',
    'in one transaction. Running it again changes nothing. The relay itself never changes a table.',
    'Connects to DATABASE_URL (or to what the file DATABASE_URL_FILE holds).',
  ].join('\n'),
  flags: {
    print: { kind: 'boolean', summary: 'print the SQL and touch no database; for your own migration tool' },
    from: {
      kind: 'number',
      value: 'N',
      min: 0,
      max: currentLayout,
      summary: 'with --print: the layout that is there already (default 0, none)',
    },
    schema: { kind: 'text', value: 'NAME', summary: 'schema of the outbox (default outrider, or OUTRIDER_SCHEMA)' },
    table: { kind: 'text', value: 'NAME', summary: 'table of the outbox (default outbox, or OUTRIDER_TABLE)' },
    inbox: { kind: 'text', value: 'NAME', summary: 'table of the inbox (default inbox)' },
    lanes: { kind: 'number', value: 'N', min: 1, max: 1024, summary: 'lanes of a new outbox (default 8)' },
    payload: { kind: 'choice', choices: ['jsonb', 'json', 'text', 'bytea'], summary: 'payload column of a new outbox (default jsonb)' },
    'database-url': { kind: 'text', value: 'URL', summary: 'instead of DATABASE_URL; other users of the machine can see it' },
  },
  async run({ flags, io }) {
    const schema = flags.schema ?? io.env['OUTRIDER_SCHEMA']
    const table = flags.table ?? io.env['OUTRIDER_TABLE']
    const options = {
      schema: schema || undefined,
      table: table || undefined,
      inbox: flags.inbox,
      lanes: flags.lanes,
      payload: flags.payload,
    }
    const names = namesOf(options)
    if (flags.print === true) {
      const sql = migrationSql({ ...options, from: flags.from ?? 0 })
      return { kind: 'result', document: { from: flags.from ?? 0, to: currentLayout, sql }, text: sql }
    }
    if (flags.from !== undefined) {
      throw new ProblemsError('USAGE', 'The command line', [
        { where: '--from', got: 'the flag without --print', expected: 'both, or neither' },
      ])
    }
    const { from, to } = await withSession(databaseUrl(flags['database-url'], io), (session) => migrate(session, options))
    const done =
      from === to
        ? `is at layout ${to} already: nothing was changed`
        : from === 0
          ? `was created at layout ${to}`
          : `went from layout ${from} to ${to}`
    return { kind: 'result', document: { schema: names.schema, table: names.table, from, to }, text: `The outbox ${names.outbox} ${done}.` }
  },
})

function databaseUrl(flag: string | undefined, io: Io): string {
  if (flag !== undefined) {
    rememberSecret(flag)
    return flag
  }
  const { value, problem } = lookUp('DATABASE_URL', io.env)
  if (problem !== undefined) throw new ProblemsError('CONFIG_INVALID', 'The environment', [problem])
  if (value !== undefined) return value
  throw new ProblemsError('CONFIG_INVALID', 'The environment', [
    { where: 'DATABASE_URL', got: 'nothing', expected: 'the address of the database: postgres://USER@HOST:PORT/DATABASE' },
  ])
}

async function withSession<T>(url: string, work: (session: PgSession) => Promise<T>): Promise<T> {
  const openSession = await loadPg()
  const address = addressOf({ connectionString: url })
  const session = openSession({ connectionString: url, application_name: 'outrider migrate', connectionTimeoutMillis: 10_000 })
  // The error itself arrives where it is awaited; without a listener it would end the process.
  session.on('error', () => undefined)
  try {
    await session.connect()
  } catch (error) {
    throw connectError(error, address)
  }
  try {
    return await work(session)
  } catch (error) {
    throw statementError(error, address)
  } finally {
    await session.end().catch(() => undefined)
  }
}

function connectError(error: unknown, address: string): OutriderError {
  const state = sqlState(error)
  const text = textOf(error instanceof AggregateError ? error.errors[0] : error)
  // 28: not authenticated; 3D000: no such database; 42501: no right to connect.
  if (state !== null && /^(28|3D000|42501)/.test(state)) {
    return new OutriderError('SOURCE_FORBIDDEN', `PostgreSQL at ${address} refuses the connection: ${text}. Nothing was changed.`, {
      hint: 'Check the user, the password and the name of the database in DATABASE_URL.',
      cause: error,
    })
  }
  return new OutriderError('SOURCE_UNREACHABLE', `PostgreSQL at ${address} can't be reached: ${text}. Nothing was changed.`, {
    hint: 'Check the address in DATABASE_URL, and that the server accepts connections.',
    retryable: true,
    cause: error,
  })
}

function statementError(error: unknown, address: string): OutriderError {
  if (isOutriderError(error)) return error
  const state = sqlState(error)
  const text = textOf(error)
  if (state === '42501') {
    return new OutriderError('SOURCE_FORBIDDEN', `The role may not create the outbox: ${text}. Nothing was changed.`, {
      hint: 'Run it as a role that may create a schema, or let such a role run what `outrider migrate --print` prints.',
      cause: error,
    })
  }
  if (state === null || /^(08|57P)/.test(state)) {
    return new OutriderError('SOURCE_LOST', `The connection to PostgreSQL at ${address} was lost: ${text}.`, {
      hint: 'Run it again: what was not committed is undone, and what was committed is kept.',
      retryable: true,
      cause: error,
    })
  }
  return new OutriderError('MIGRATION_FAILED', `PostgreSQL at ${address} refused the migration: ${text} (${state}). Nothing was changed.`, {
    hint: 'Read the SQL with `outrider migrate --print`.',
    cause: error,
  })
}
