import { checkName, defaultNames, enlist, OutriderError, textFault } from '../core/index.ts'
import type { Events, Executor } from '../core/index.ts'
import type { InboxMessage } from './message.ts'
import { once } from './once.ts'
import type { OnceResult, OnceSettings } from './once.ts'
import { inboxStatements } from './queries.ts'
import { readRecord } from './read.ts'
import type { AnyRecord } from './record.ts'

export interface InboxOptions<E extends Events> {
  /** Name of the consumer: each consumer handles each message once. Usually its consumer group. */
  readonly consumer: string
  /** Made by `defineEvents`; shared with the writer. */
  readonly events: E
  /** A table of your own with a primary key or unique index on exactly these columns. @default Outrider's inbox */
  readonly table?: {
    readonly name: string
    /** Column of the event id: text, varchar or uuid. */
    readonly messageId: string
    /** Column of the consumer's name. @default none: the table belongs to one consumer */
    readonly consumer?: string
  }
  /** Schema of the table. @default 'outrider'; with `table`, what the connection's search_path finds */
  readonly schema?: string
  /** Longest wait for another consumer that handles the same message at this moment, in milliseconds. @default as long as it lasts */
  readonly lockTimeoutMs?: number
  /** Turns the transaction of a library that Outrider doesn't know into something that runs SQL in it. */
  executor?(this: void, tx: object): Executor
}

export interface Inbox<E extends Events> {
  /**
   * Reads a record of any Kafka client into a message, typed by its `type`. Unknown events come as `{ type: 'unknown' }`.
   * Throws DECODE_FAILED for a record that can't be read, USAGE when the event's schema is asynchronous.
   */
  read(record: AnyRecord): InboxMessage<E>
  /** As `read`, also for schemas that are asynchronous. */
  readAsync(record: AnyRecord): Promise<InboxMessage<E>>
  /**
   * Runs `fn` unless this consumer has handled the message already, in the caller's transaction: what `fn` did in it and the note of the message
   * exist together or not at all. A second consumer waits for the first, then sees a duplicate; if the first rolls back, it takes over.
   * Acknowledge the message after the commit, for duplicates too. One call at a time in a transaction.
   *
   * An error of `fn` is passed on, and everything that `fn` did in the transaction is undone.
   * Throws NOT_IN_TRANSACTION, UNKNOWN_EXECUTOR, INBOX_MISSING, and the retryable INBOX_BUSY.
   */
  once<T>(tx: object, message: { readonly id: string }, fn: () => T | Promise<T>): Promise<OnceResult<T>>
}

/** The reader's side. Holds no connection. Throws CONFIG_INVALID. */
export function createInbox<const E extends Events>(options: InboxOptions<E>): Inbox<E> {
  const settings = settingsOf(options)
  return {
    read(record) {
      const message = readRecord(record, options.events)
      if (!(message instanceof Promise)) return message
      message.catch(() => {})
      throw new OutriderError('USAGE', 'inbox.read met an event whose schema is asynchronous.', {
        hint: 'Use await inbox.readAsync(record).',
      })
    },
    readAsync: async (record) => readRecord(record, options.events),
    async once(tx, message, fn) {
      const id: unknown = message?.id
      if (typeof id !== 'string' || id === '' || textFault(id) !== null) {
        throw new OutriderError('USAGE', `inbox.once got a message whose id is ${JSON.stringify(id) ?? 'missing'}. Nothing was done.`, {
          hint: 'Pass the message that inbox.read returned.',
        })
      }
      return once(enlist(tx, 'inbox.once', options.executor), id, fn, settings)
    },
  }
}

function settingsOf({ consumer, events, table, schema, lockTimeoutMs }: InboxOptions<Events>): OnceSettings {
  if (typeof consumer !== 'string' || consumer === '' || textFault(consumer) !== null) {
    throw invalid(`consumer is ${JSON.stringify(consumer)}`, 'a name')
  }
  if (typeof events !== 'object' || events === null) throw invalid('events is missing', 'what defineEvents returns')
  if (lockTimeoutMs !== undefined && !(Number.isInteger(lockTimeoutMs) && lockTimeoutMs > 0)) {
    throw invalid(`lockTimeoutMs is ${String(lockTimeoutMs)}`, 'a whole number from 1')
  }
  const place =
    table === undefined
      ? { schema: schema ?? defaultNames.schema, name: defaultNames.inbox, messageId: 'message_id', consumer: 'consumer' }
      : { schema: schema ?? null, name: table.name, messageId: table.messageId, consumer: table.consumer ?? null }
  if (place.schema !== null) checkName('schema', place.schema)
  checkName('inbox', place.name)
  checkName('column of the message id', place.messageId)
  if (place.consumer !== null) checkName('column of the consumer', place.consumer)
  return { consumer, table: place, statements: inboxStatements(place), lockTimeoutMs: lockTimeoutMs ?? null }
}

function invalid(got: string, want: string): OutriderError {
  return new OutriderError('CONFIG_INVALID', `The inbox can't be made: ${got}; it must be ${want}.`)
}
