/** What went wrong, for programs: compare `code`, never the text. Part of the stable surface. */
export type OutriderErrorCode =
  // write
  | 'NOT_IN_TRANSACTION'
  | 'UNKNOWN_EXECUTOR'
  | 'UNKNOWN_EVENT'
  | 'PAYLOAD_INVALID'
  | 'PAYLOAD_NOT_STORABLE'
  | 'PAYLOAD_TOO_LARGE'
  | 'SCHEMA_NOT_STABLE'
  | 'HEADERS_INVALID'
  | 'KEY_INVALID'
  | 'TOPIC_INVALID'
  | 'OUTBOX_MISSING'
  // consume
  | 'DECODE_FAILED'
  | 'INBOX_MISSING'
  | 'INBOX_BUSY'
  // set-up
  | 'CONFIG_INVALID'
  | 'DRIVER_MISSING'
  | 'SCHEMA_MISSING'
  | 'SCHEMA_OUTDATED'
  | 'SCHEMA_TOO_NEW'
  | 'SCHEMA_LOCKED'
  | 'USAGE'
  | 'MIGRATION_FAILED'
  | 'FIXTURE_INVALID'
  // reading safely
  | 'SOURCE_LOST'
  | 'SOURCE_UNREACHABLE'
  | 'SOURCE_IS_STANDBY'
  | 'SOURCE_IS_POOLED'
  | 'SOURCE_FORBIDDEN'
  | 'SOURCE_ENCODING'
  | 'SEQUENCE_CACHED'
  | 'SEQUENCE_NOT_ALWAYS'
  | 'SEQUENCE_RESET'
  | 'SEQUENCE_BYPASSED'
  | 'ROWS_HIDDEN'
  | 'IDENTITY_CHANGED'
  | 'TABLE_SUBSCRIBED'
  // publishing
  | 'BROKER_UNREACHABLE'
  | 'BROKER_INCOMPATIBLE'
  | 'BROKER_FORBIDDEN'
  | 'BROKER_ANSWER_INVALID'
  | 'CLOSED'

export interface OutriderErrorOptions {
  /** What to do next, in one sentence or with the SQL that mends it. */
  readonly hint?: string
  /** The same call may succeed later without any change. @default false */
  readonly retryable?: boolean
  readonly cause?: unknown
}

/** Every error that Outrider throws on purpose. The message says what was got and what was (not) done. */
export class OutriderError extends Error {
  readonly code: OutriderErrorCode
  readonly hint: string | null
  readonly retryable: boolean

  constructor(code: OutriderErrorCode, message: string, options: OutriderErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'OutriderError'
    this.code = code
    this.hint = options.hint ?? null
    this.retryable = options.retryable ?? false
  }

  /** `CODE  message` and, on the next line, the hint: what a terminal shows. */
  override toString(): string {
    return `${this.code}  ${this.message}${this.hint === null ? '' : `\n  ${this.hint}`}`
  }
}

/** Recognises errors of any copy of Outrider (a bundle may hold two). */
export function isOutriderError(error: unknown, code?: OutriderErrorCode): error is OutriderError {
  return error instanceof Error && error.name === 'OutriderError' && 'code' in error && (code === undefined || error.code === code)
}

/** The text of anything that was thrown. */
export function textOf(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error)
}
