// What must be true before reading is safe. Each finding names what was found and the SQL that mends it.
import { OutriderError } from '../../core/index.ts'
import { currentLayout } from './migrate.ts'
import type { Connection } from './connection.ts'
import { quoteText, type Names } from './names.ts'
import { acceptIdentity, findMeta, prepareOwning, prepareReading, probeRows, readHighest, readSetup, startOver, whoAmI } from './queries.ts'

/** What the source needs to know of the place that it reads. */
export interface Setup {
  readonly lanes: number
  readonly payloadType: string
  /** The identity sequence: qualified and quoted, and its oid. */
  readonly sequence: string
  readonly sequenceOid: string
  readonly tableOid: string
  readonly filenode: string
  readonly backend: number
}

interface SetupRow {
  schema_version: number
  lanes: number
  payload_type: string
  system_identifier: string | null
  database_oid: string | null
  sequence_filenode: string | null
  here_system: string
  here_database: string
  here_filenode: string | null
  sequence: string | null
  sequence_oid: string | null
  table_oid: string
  cache: string | null
  increment: string | null
  identity: string
  may_read_sequence: boolean | null
  may_read_outbox: boolean
  subscribed: boolean
}

interface Backend {
  pid: number
  standby: boolean
  encoding: string
}

/** Checks everything and prepares both sessions. Throws the first finding as an OutriderError. */
export async function setUp(connection: Connection, names: Names, timeoutMs: number): Promise<Setup> {
  const backend = await refusePooler(connection)
  if (backend.standby) {
    throw new OutriderError(
      'SOURCE_IS_STANDBY',
      'This server is a standby: the relay reads and settles on the primary only. Nothing was read.',
      {
        hint: 'Give the address of the primary (target_session_attrs=read-write), or promote this server.',
        retryable: true,
      },
    )
  }
  if (backend.encoding !== 'UTF8') {
    throw new OutriderError(
      'SOURCE_ENCODING',
      `The database's encoding is ${backend.encoding}: payloads could not be passed on byte for byte. Nothing was read.`,
      {
        hint: "Use a database with encoding UTF8: CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0.",
      },
    )
  }
  await connection.read({ text: prepareReading(timeoutMs) })
  await connection.own({ text: prepareOwning(timeoutMs) })
  const row = await readRow(connection, names)
  checkLayout(row, names)
  checkSequence(row, names)
  checkIdentity(row, names)
  await connection.read({ text: probeRows(names) })
  await checkHighest(connection, names, row.sequence!)
  return {
    lanes: row.lanes,
    payloadType: row.payload_type,
    sequence: row.sequence!,
    sequenceOid: row.sequence_oid!,
    tableOid: row.table_oid,
    filenode: row.here_filenode!,
    backend: backend.pid,
  }
}

/** Behind a pooler in transaction mode two statements of one session run on two backends as soon as another session is busy. */
async function refusePooler(connection: Connection): Promise<Backend> {
  const before = (await connection.read<Backend>({ text: whoAmI }))[0]!
  await connection.own({ text: 'begin' })
  const other = (await connection.own<Backend>({ text: whoAmI }))[0]!
  // Where they are the same already, a third statement could wait for ever in a pool of one.
  const after = other.pid === before.pid ? other : (await connection.read<Backend>({ text: whoAmI }))[0]!
  await connection.own({ text: 'commit' })
  if (other.pid === before.pid || after.pid !== before.pid) {
    const facts =
      other.pid === before.pid
        ? `two sessions ran on one backend, ${before.pid}`
        : `one session ran on the backends ${before.pid} and ${after.pid}`
    throw new OutriderError(
      'SOURCE_IS_POOLED',
      `A pooler in transaction mode stands in between: ${facts}. The relay needs sessions of its own. Nothing was read.`,
      {
        hint: 'Give the relay a direct URL to PostgreSQL, or a pool in session mode. Writers may go through the pooler.',
      },
    )
  }
  return after
}

async function readRow(connection: Connection, names: Names): Promise<SetupRow> {
  const meta = (await connection.read<{ meta: string | null }>({ text: findMeta, values: [names.of('meta')] }))[0]
  if (meta?.meta == null) {
    throw new OutriderError('SCHEMA_MISSING', `There is no outbox ${names.outbox} in this database. Nothing was read.`, {
      hint: 'Create it: npx outrider migrate',
    })
  }
  const rows = await connection.read<SetupRow>({ text: readSetup(names), values: [names.outbox] })
  if (rows[0] === undefined) {
    throw new OutriderError('SCHEMA_MISSING', `${names.of('meta')} is empty, or ${names.outbox} has no column seq. Nothing was read.`, {
      hint: 'Restore the table from a backup, or create the outbox anew: npx outrider migrate',
    })
  }
  return rows[0]
}

function checkLayout(row: SetupRow, names: Names): void {
  if (row.schema_version < currentLayout) {
    throw new OutriderError(
      'SCHEMA_OUTDATED',
      `The outbox ${names.outbox} has layout ${row.schema_version}; this relay needs ${currentLayout}. Nothing was read.`,
      {
        hint: 'Bring it up to date: npx outrider migrate',
      },
    )
  }
  if (row.schema_version > currentLayout + 1) {
    throw new OutriderError(
      'SCHEMA_TOO_NEW',
      `The outbox ${names.outbox} has layout ${row.schema_version}; this relay knows ${currentLayout}. Nothing was read.`,
      {
        hint: 'Update the outrider package.',
      },
    )
  }
  if (row.subscribed) {
    throw new OutriderError(
      'TABLE_SUBSCRIBED',
      `A logical-replication subscription writes into ${names.outbox}: its numbers come from another server, so a gap says nothing. Nothing was read.`,
      {
        hint: 'Run the relay on the publishing server, and leave the outbox out of the publication.',
      },
    )
  }
}

function checkSequence(row: SetupRow, names: Names): void {
  if (row.identity !== 'a' || row.sequence === null) {
    throw new OutriderError(
      'SEQUENCE_NOT_ALWAYS',
      `The column seq of ${names.outbox} is not GENERATED ALWAYS AS IDENTITY: numbers could be chosen by writers, and events lost. Nothing was read.`,
      {
        hint: `ALTER TABLE ${names.outbox} ALTER COLUMN seq SET GENERATED ALWAYS;`,
      },
    )
  }
  if (row.may_read_sequence !== true || !row.may_read_outbox) {
    throw new OutriderError(
      'SOURCE_FORBIDDEN',
      `The relay's role may not read ${row.may_read_outbox ? `the sequence ${row.sequence}` : names.outbox}. Nothing was read.`,
      {
        hint: `GRANT SELECT ON ${row.may_read_outbox ? `SEQUENCE ${row.sequence}` : names.outbox} TO <relay role>;`,
      },
    )
  }
  if (row.cache !== '1' || row.increment !== '1') {
    throw new OutriderError(
      'SEQUENCE_CACHED',
      `The sequence ${row.sequence} has CACHE ${row.cache}, INCREMENT ${row.increment}: sessions would keep numbers for later, and a gap would say nothing. Nothing was read.`,
      {
        hint: `ALTER SEQUENCE ${row.sequence} CACHE 1 INCREMENT 1; then, when all writers have reconnected: ${acceptIdentity(names)}`,
      },
    )
  }
}

function checkIdentity(row: SetupRow, names: Names): void {
  const changed = [
    ['system identifier', row.system_identifier, row.here_system],
    ['database', row.database_oid, row.here_database],
    ['sequence file', row.sequence_filenode, row.here_filenode],
  ].filter(([, stored, here]) => stored !== here)
  if (changed.length === 0) return
  const facts = changed.map(([what, stored, here]) => `${what} ${stored} is now ${here}`).join(', ')
  const onlySequence = changed.every(([what]) => what === 'sequence file')
  throw new OutriderError(
    'IDENTITY_CHANGED',
    `This is not the outbox that the positions were made for: ${facts}. ${onlySequence ? 'Its sequence was restarted or altered (TRUNCATE ... RESTART IDENTITY, CACHE)' : 'It was cloned, restored or upgraded'}. Nothing was read.`,
    {
      hint: onlySequence
        ? `If its numbers began anew, deliver every row that is there: ${startOver(names)}\n  If they go on where they were: ${acceptIdentity(names)}`
        : `If this database is the one to deliver from now on, and no other relay delivers the same events: ${acceptIdentity(names)}`,
    },
  )
}

async function checkHighest(connection: Connection, names: Names, sequence: string): Promise<void> {
  const row = (await connection.read<{ upto: string | null; last_value: string }>({ text: readHighest(names, sequence) }))[0]!
  if (row.upto === null || BigInt(row.last_value) >= BigInt(row.upto)) return
  throw new OutriderError(
    'SEQUENCE_RESET',
    `The sequence ${sequence} stands at ${row.last_value}, but everything up to ${row.upto} was delivered: new events would take old numbers and be lost. Nothing was read.`,
    {
      hint: `Set it above: SELECT setval(${quoteText(sequence)}, ${row.upto}); events written since it was set back have numbers up to ${row.last_value}: write them again.\n  Or deliver every row that is there, once more if it was delivered: ${startOver(names)}`,
    },
  )
}
