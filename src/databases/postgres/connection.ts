// The two sessions of a source: one reads, tests locks and settles; the other owns (leases, fences) and listens.
// If one is lost, both are: whatever was in memory is worth nothing from then on.
import { isOutriderError, OutriderError, textOf, type Clock } from '../../core/index.ts'
import { sourceError } from './classify.ts'
import type { OpenSession, PgConnection, PgQuery, PgSession } from './client.ts'

export interface ConnectionOptions {
  readonly openSession: OpenSession
  readonly connection: PgConnection
  readonly address: string
  readonly clock: Clock
  /** A statement that takes longer counts as a lost connection, in milliseconds. */
  readonly timeoutMs: number
}

/** A refused connection is an AggregateError without a text of its own. */
function reasonOf(cause: unknown): string {
  const inner = isOutriderError(cause) ? (cause.cause ?? cause) : cause
  return textOf(inner instanceof AggregateError ? (inner.errors[0] ?? inner) : inner)
}

export class Connection {
  readonly #options: ConnectionOptions
  readonly #reading: PgSession
  readonly #owning: PgSession
  readonly #closed = new AbortController()
  /** Statements under way, the oldest first. */
  readonly #waiting = new Set<{ readonly sinceMs: number }>()
  /** Ends of the last statement of each session. */
  readonly #turns = new Map<PgSession, Promise<void>>()
  #lost: OutriderError | null = null
  #notified: () => void = () => undefined

  private constructor(options: ConnectionOptions) {
    this.#options = options
    this.#reading = this.#create('reading')
    this.#owning = this.#create('owning')
  }

  /** Connects both sessions. Throws SOURCE_UNREACHABLE (retryable) when the server can't be reached. */
  static async open(options: ConnectionOptions): Promise<Connection> {
    const connection = new Connection(options)
    const connecting = { sinceMs: options.clock.monotonicMs() }
    connection.#waiting.add(connecting)
    void connection.#watch()
    try {
      // A session of `pg` that is ended while it connects never says so.
      const { promise: given, reject } = Promise.withResolvers<never>()
      connection.#closed.signal.addEventListener('abort', () => reject(connection.#lost), { once: true })
      given.catch(() => undefined)
      await Promise.race([Promise.all([connection.#reading.connect(), connection.#owning.connect()]), given])
      return connection
    } catch (cause) {
      connection.destroy()
      throw new OutriderError('SOURCE_UNREACHABLE', `PostgreSQL at ${options.address} can't be reached: ${reasonOf(cause)}.`, {
        hint: 'Check the address, the credentials, and that the server accepts connections. The relay tries again by itself.',
        retryable: true,
        cause,
      })
    } finally {
      connection.#waiting.delete(connecting)
    }
  }

  /** Runs on the reading session, in order of the calls. Throws SOURCE_LOST, or a final error that names what to mend. */
  async read<R>(query: PgQuery): Promise<R[]> {
    return this.#run<R>(this.#reading, query)
  }

  /** Runs on the owning session. */
  async own<R>(query: PgQuery): Promise<R[]> {
    return this.#run<R>(this.#owning, query)
  }

  /** Calls back for each NOTIFY that the owning session listens to. */
  onNotify(listener: () => void): void {
    this.#notified = listener
  }

  /** Why it is of no use any more; null while it is. */
  get lost(): OutriderError | null {
    return this.#lost
  }

  /** Ends both sessions, with a goodbye to the server when it listens. */
  async close(): Promise<void> {
    if (this.#lost !== null) return
    this.#lost = new OutriderError('CLOSED', 'The source was closed.')
    this.#closed.abort()
    this.#notified()
    await Promise.race([Promise.allSettled([this.#reading.end(), this.#owning.end()]), this.#options.clock.sleep(1_000)])
    this.#cut()
  }

  /** Ends both sessions at once. */
  destroy(): void {
    this.#lose(new OutriderError('CLOSED', 'The connection was ended.'))
  }

  async #run<R>(session: PgSession, query: PgQuery): Promise<R[]> {
    const waiting = { sinceMs: this.#options.clock.monotonicMs() }
    this.#waiting.add(waiting)
    const before = this.#turns.get(session)
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#turns.set(session, promise)
    try {
      // `pg` wants one statement at a time.
      await before
      if (this.#lost !== null) throw this.#lost
      return (await session.query(query)).rows as R[]
    } catch (error) {
      throw this.#lose(sourceError(error, this.#options.address))
    } finally {
      this.#waiting.delete(waiting)
      resolve()
    }
  }

  /** A dead link answers nothing, ever: ends the connection when a statement waits for too long. */
  async #watch(): Promise<void> {
    const { clock, timeoutMs, address } = this.#options
    while (this.#lost === null) {
      await clock.sleep(timeoutMs / 4, this.#closed.signal)
      const [oldest] = this.#waiting
      if (oldest !== undefined && clock.monotonicMs() - oldest.sinceMs > timeoutMs) {
        this.#lose(sourceError(new Error(`no answer within ${timeoutMs} ms`), address))
      }
    }
  }

  #create(what: string): PgSession {
    const session = this.#options.openSession({
      keepAlive: true,
      application_name: `outrider relay (${what})`,
      ...this.#options.connection,
    })
    // Without a listener a terminated backend would end the process.
    session.on('error', (error) => this.#lose(sourceError(error, this.#options.address)))
    session.on('end', () => this.#lose(sourceError(new Error('the server ended the session'), this.#options.address)))
    session.on('notification', () => this.#notified())
    return session
  }

  #lose(reason: OutriderError): OutriderError {
    if (this.#lost === null) {
      this.#lost = reason
      this.#closed.abort()
      this.#notified()
      this.#cut()
    }
    return this.#lost
  }

  /** With the sockets gone, every statement under way rejects. */
  #cut(): void {
    for (const session of [this.#reading, this.#owning]) {
      session.end().catch(() => undefined)
      session.connection.stream.destroy()
    }
  }
}
