import { after, issuesText, OutriderError, textFault, textOf } from '../core/index.ts'
import type { AnyEvent, Events } from '../core/index.ts'
import type { InboxMessage, MessageFacts } from './message.ts'
import { plainRecord, text } from './record.ts'
import type { PlainRecord } from './record.ts'

/** The facts of a failure: where the record is, and what it claims to be. */
type Fail = (problem: string, cause?: unknown) => OutriderError

/**
 * From a record to a typed message. Synchronous when the schema is.
 * Throws DECODE_FAILED, which no retry mends: the record must be set aside or its reader changed.
 */
export function readRecord<E extends Events>(record: unknown, events: E): InboxMessage<E> | Promise<InboxMessage<E>> {
  const plain = plainRecord(record)
  const fail: Fail = (problem, cause) => decodeFailed(plain, problem, cause)
  const id = plain.headers['eventId']
  const type = plain.headers['eventType']
  if (id === undefined || id === '' || textFault(id) !== null)
    throw fail(id === undefined ? 'it has no header eventId' : 'its eventId is no id')
  if (type === undefined) throw fail('it has no header eventType')
  const facts: MessageFacts = {
    id,
    key: plain.key,
    headers: plain.headers,
    time: plain.headers['eventTime'] ?? null,
    aggregateType: plain.headers['aggregateType'] ?? null,
    topic: plain.topic,
    position: positionOf(plain),
    version: versionOf(plain.headers['eventVersion'], fail),
  }
  const definition = Object.hasOwn(events, type) ? events[type] : undefined
  const unknown = (reason: 'type' | 'version'): InboxMessage<E> => ({
    ...facts,
    type: 'unknown',
    eventType: type,
    reason,
    payload: plain.value,
  })
  if (definition === undefined) return unknown('type')
  if (facts.version > (definition.version ?? 1)) return unknown('version')
  if (plain.value === null) return { ...facts, type: 'tombstone', eventType: type, payload: null }
  const received = upcast(parse(plain, fail), facts.version, definition, fail)
  return after(validate(received, definition, fail), (payload) => ({ ...facts, type, payload }))
}

function validate(payload: unknown, { schema }: AnyEvent, fail: Fail): unknown {
  if (schema === null) return payload
  return after(schema['~standard'].validate(payload), (result) => {
    if (result.issues !== undefined) throw fail(`its payload is not what the schema wants: ${issuesText(result.issues)}`)
    return result.value
  })
}

/** JSON, whatever the column was; what is no JSON and doesn't claim to be is handed to the schema as text or bytes. */
function parse(plain: PlainRecord, fail: Fail): unknown {
  const { value } = plain
  if (typeof value !== 'string' && !(value instanceof Uint8Array)) return value
  const content = plain.headers['content-type'] ?? 'application/json'
  try {
    return JSON.parse(typeof value === 'string' ? value : strictText(value))
  } catch (cause) {
    if (content === 'text/plain') return text(value)
    if (content === 'application/octet-stream') return value
    throw fail(`its value is no JSON: ${textOf(cause)}`, cause)
  }
}

const strict = new TextDecoder('utf-8', { fatal: true })

function strictText(bytes: Uint8Array): string {
  return strict.decode(bytes)
}

function upcast(payload: unknown, version: number, definition: AnyEvent, fail: Fail): unknown {
  if (definition.upcast === null || version === (definition.version ?? 1)) return payload
  try {
    return definition.upcast(payload, version)
  } catch (cause) {
    throw fail(`its payload of version ${version} could not be brought to version ${definition.version ?? 1}: ${textOf(cause)}`, cause)
  }
}

function versionOf(header: string | undefined, fail: Fail): number {
  if (header === undefined) return 1
  if (/^[1-9]\d{0,8}$/.test(header)) return Number(header)
  throw fail(`its eventVersion is ${JSON.stringify(header)}, which is no whole number from 1`)
}

function positionOf({ topic, partition, offset }: PlainRecord): string | null {
  return topic === null || partition === null || offset === null ? null : `${topic}/${partition}/${offset}`
}

function decodeFailed(plain: PlainRecord, problem: string, cause: unknown): OutriderError {
  const where = positionOf(plain) ?? plain.topic ?? 'of an unknown place'
  const claims = ['eventId', 'eventType', 'eventVersion'].flatMap((name) =>
    plain.headers[name] === undefined ? [] : [`${name} ${plain.headers[name]}`],
  )
  return new OutriderError(
    'DECODE_FAILED',
    `The record ${where}${claims.length === 0 ? '' : ` (${claims.join(', ')})`} can't be read: ${problem}.`,
    { hint: 'Set the record aside with its bytes: trying again gives the same.', ...(cause === undefined ? {} : { cause }) },
  )
}
