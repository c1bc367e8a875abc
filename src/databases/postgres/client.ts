import { OutriderError } from '../../core/index.ts'

/** The part of a `pg` client that is used here. */
export interface PgClient {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[]; rowCount: number | null }>
}

/** A client that this source opened for itself. */
export interface PgSession extends PgClient {
  query(config: PgQuery): Promise<{ rows: unknown[]; rowCount: number | null }>
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[]; rowCount: number | null }>
  connect(): Promise<unknown>
  end(): Promise<void>
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'end', listener: () => void): unknown
  on(event: 'notification', listener: (message: { channel: string }) => void): unknown
  readonly connection: { readonly stream: { destroy(): unknown } }
}

export interface PgQuery {
  readonly text: string
  readonly values?: unknown[]
  /** Prepared once a session under this name. */
  readonly name?: string
  readonly rowMode?: 'array'
  readonly types?: { getTypeParser: () => (text: string) => unknown }
}

/** Connection settings as `pg` takes them; a URL alone is the usual case. */
export interface PgConnection {
  readonly connectionString?: string | undefined
  readonly [option: string]: unknown
}

export type OpenSession = (connection: PgConnection) => PgSession

/** Loads `pg` when it is first needed. Throws DRIVER_MISSING. */
export async function loadPg(): Promise<OpenSession> {
  try {
    const { default: pg } = await import('pg')
    return (connection) => new pg.Client(connection)
  } catch (cause) {
    throw new OutriderError('DRIVER_MISSING', 'The PostgreSQL source needs the package pg, which is not installed.', {
      hint: 'npm install pg@^8.21',
      cause,
    })
  }
}
