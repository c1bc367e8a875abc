import { after, OutriderError, reservedHeaders, textFault, textOf, utf8Length } from '../core/index.ts'
import type { AnyEvent, Events, OutboxRow } from '../core/index.ts'
import { newId } from './ids.ts'
import type { PayloadType } from './queries.ts'
import { checkRawJson, RawJson } from './raw-json.ts'
import { validate } from './validate.ts'

/** One event to write, before any check. */
export interface WriteRequest {
  readonly type: string
  readonly payload: unknown
  readonly key?: string | undefined
  readonly topic?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

export interface PrepareSettings {
  readonly events: Events
  readonly payload: PayloadType
  readonly maxPayloadBytes: number
  readonly verifySchemas: boolean
}

/** A payload as it will be stored, and what the event's key is computed from. */
interface Stored {
  readonly payload: string | Uint8Array | null
  /** Null when there is nothing to compute a key from. */
  readonly value: { readonly of: unknown } | null
  /** The text of the caller, which no schema has seen: its key may fail to compute. */
  readonly isRaw: boolean
}

/**
 * From what the caller wrote to the row that is stored: every check is here, before any SQL is sent, so that a refused event leaves the
 * caller's transaction as it was. Synchronous when the event's schema is.
 *
 * @param place where the event stands, for error messages: `OrderPlaced`, or `OrderPlaced (events[3])`
 */
export function prepare(request: WriteRequest, place: string, settings: PrepareSettings): OutboxRow | Promise<OutboxRow> {
  const definition = find(settings.events, request.type)
  const topic = request.topic ?? definition.topic
  if (topic !== null) check(topic === '' ? 'is empty' : textProblem(topic), 'TOPIC_INVALID', place, 'the topic')
  if (request.key !== undefined) check(textProblem(request.key), 'KEY_INVALID', place, 'the key')
  const headers = headersOf(definition, request.headers, place)
  return after(storedOf(request.payload, definition, place, settings), (stored): OutboxRow => {
    assertSize(stored.payload, place, settings.maxPayloadBytes)
    const computed = keyOf(stored, definition, request.key, place)
    return {
      id: newId(),
      aggregateType: definition.aggregate,
      aggregateId: computed,
      type: request.type,
      payload: stored.payload,
      headers,
      topic,
      key: request.key === undefined || request.key === computed ? null : request.key,
    }
  })
}

function find(events: Events, type: string): AnyEvent {
  const definition = Object.hasOwn(events, type) ? events[type] : undefined
  if (definition !== undefined) return definition
  throw new OutriderError('UNKNOWN_EVENT', `There is no event ${JSON.stringify(type)}. Nothing was written.`, {
    hint: `Defined are: ${Object.keys(events).join(', ')}.`,
  })
}

function storedOf(payload: unknown, definition: AnyEvent, place: string, settings: PrepareSettings): Stored | Promise<Stored> {
  if (payload === null) return { payload: null, value: null, isRaw: true }
  if (payload instanceof RawJson) return rawText(payload.text, place, settings)
  if (payload instanceof Uint8Array) {
    if (settings.payload === 'bytea') return { payload: payload.slice(), value: null, isRaw: true }
    const text = decode(payload, place)
    if (settings.payload !== 'text') return rawText(text, place, settings)
    check(textProblem(text), 'PAYLOAD_NOT_STORABLE', place, 'the payload')
    return { payload: text, value: null, isRaw: true }
  }
  return after(validate(definition.schema, payload, place, settings.verifySchemas), ({ value, text }): Stored => {
    return { payload: text, value: { of: value }, isRaw: false }
  })
}

function rawText(text: string, place: string, settings: PrepareSettings): Stored {
  return { payload: text, value: { of: checkRawJson(text, place, settings.payload) }, isRaw: true }
}

function decode(bytes: Uint8Array, place: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (cause) {
    throw new OutriderError('PAYLOAD_NOT_STORABLE', `${place}: the payload's bytes are not UTF-8. Nothing was written.`, {
      hint: 'Bytes that are no text need a payload column of type bytea, and createOutbox({ payload: "bytea" }).',
      cause,
    })
  }
}

function assertSize(payload: string | Uint8Array | null, place: string, maxBytes: number): void {
  // A UTF-16 unit is three bytes at most: most payloads need no counting.
  if (payload === null || payload.length * 3 <= maxBytes) return
  const bytes = typeof payload === 'string' ? utf8Length(payload) : payload.length
  if (bytes <= maxBytes) return
  throw new OutriderError('PAYLOAD_TOO_LARGE', `${place}: the payload has ${bytes} bytes, the limit is ${maxBytes}. Nothing was written.`, {
    hint: 'Store the large part elsewhere and put a reference into the event, or raise maxPayloadBytes together with the limit of the broker.',
  })
}

/** The aggregate's id. A key that was passed stands in where none can be computed. */
function keyOf(stored: Stored, definition: AnyEvent, passed: string | undefined, place: string): string | null {
  if (definition.key === null) return stored.value === null || stored.isRaw ? (passed ?? null) : null
  let why = 'has to be passed: there is nothing to compute it from'
  if (stored.value !== null) {
    try {
      const key: unknown = (definition.key as (payload: unknown) => unknown)(stored.value.of)
      if (key === null) return null
      why =
        typeof key === 'string'
          ? (textProblem(key) ?? '')
          : `is ${typeof key === 'object' ? 'an object' : typeof key}: it must be a string or null`
      if (why === '') return key as string
    } catch (cause) {
      why = `could not be computed: ${textOf(cause)}`
    }
  }
  if (stored.isRaw && passed !== undefined) return passed
  throw new OutriderError('KEY_INVALID', `${place}: the key ${why}. Nothing was written.`, {
    hint: stored.isRaw ? 'Pass it: { key: "..." } as the last argument.' : "The event's key function gets the validated payload.",
  })
}

function headersOf(definition: AnyEvent, own: WriteRequest['headers'], place: string): Record<string, string> | null {
  const merged: [string, string][] = []
  if (own !== undefined) {
    if (typeof own !== 'object' || own === null || Array.isArray(own) || own instanceof Map)
      throw badHeaders(place, 'headers', 'is not a flat object')
    for (const name of Object.keys(own)) {
      const at = `headers[${JSON.stringify(name)}]`
      const value: unknown = own[name]
      if (name === '') throw badHeaders(place, at, 'has an empty name')
      if (reservedHeaders.includes(name)) throw badHeaders(place, at, 'is set by Outrider itself')
      if (typeof value !== 'string') throw badHeaders(place, at, `is ${value === null ? 'null' : typeof value}, not a string`)
      const fault = textFault(name) ?? textFault(value)
      if (fault !== null) throw badHeaders(place, at, `holds ${fault}, which PostgreSQL can't store`)
      merged.push([name, value])
    }
  }
  if (merged.length === 0 && definition.headers === null && definition.version === null) return null
  const version: [string, string][] = definition.version === null ? [] : [['eventVersion', String(definition.version)]]
  return Object.fromEntries([...Object.entries(definition.headers ?? {}), ...merged, ...version])
}

function badHeaders(place: string, at: string, problem: string): OutriderError {
  return new OutriderError('HEADERS_INVALID', `${place}: ${at} ${problem}. Nothing was written.`, {
    hint: 'Headers are a flat map of strings.',
  })
}

function textProblem(text: unknown): string | null {
  if (typeof text !== 'string') return `is ${text === null ? 'null' : `a ${typeof text}`}, not a string`
  const fault = textFault(text)
  return fault === null ? null : `holds ${fault}, which PostgreSQL can't store`
}

function check(problem: string | null, code: 'TOPIC_INVALID' | 'KEY_INVALID' | 'PAYLOAD_NOT_STORABLE', place: string, what: string): void {
  if (problem !== null) throw new OutriderError(code, `${place}: ${what} ${problem}. Nothing was written.`)
}
