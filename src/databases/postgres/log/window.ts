// Reading rows and making messages of them: text in, bytes out.
import type { ContentType, Message } from '../../../core/index.ts'
import type { PgQuery } from '../client.ts'

/** A row as the window gives it: lane, seq, then the columns; null columns for a lane that was not asked for. */
export type Row = readonly [
  lane: string,
  seq: string,
  id: string | null,
  aggregateType: string,
  aggregateId: string | null,
  type: string,
  payload: string | null,
  headers: string | null,
  topic: string | null,
  key: string | null,
  createdAt: string,
]

const asText = (text: string): string => text
const types = { getTypeParser: () => asText }

/** A statement whose rows come as arrays of text, prepared under `name`. */
export function rawQuery(name: string, text: string, values: unknown[]): PgQuery {
  return { name, text, values, rowMode: 'array', types }
}

export function messageOf(row: Row, lane: number, seq: bigint, contentType: ContentType): Message {
  const aggregateType = known(row[3])
  const payload = row[6]
  const headers = row[7]
  return {
    id: row[2]!,
    seq,
    lane,
    topic: row[8] === null ? aggregateType : known(row[8]),
    key: row[9] ?? row[4],
    type: known(row[5]),
    aggregateType,
    aggregateId: row[4],
    payload:
      payload === null ? null : contentType === 'application/octet-stream' ? Buffer.from(payload.slice(2), 'hex') : Buffer.from(payload),
    contentType,
    headers: headers === null ? null : headersOf(headers),
    createdAt: timestamp(row[10]),
    attempt: 0,
  }
}

const mostNames = 2_000
const names = new Map<string, string>()

/** Names of topics, types and aggregates are few: one text for all messages is less to keep than one for each. */
function known(name: string): string {
  const before = names.get(name)
  if (before !== undefined) return before
  if (names.size >= mostNames) names.clear()
  names.set(name, name)
  return name
}

/** Rows that other programs wrote may hold anything: what is not a flat map of strings is passed on as its JSON. */
export function headersOf(json: string): Readonly<Record<string, string>> | null {
  const parsed: unknown = JSON.parse(json)
  if (parsed === null) return null
  if (typeof parsed !== 'object' || Array.isArray(parsed)) return { headers: json }
  // Not by assignment: a header may be called __proto__.
  return Object.fromEntries(
    Object.entries(parsed).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  )
}

let lastText = ''
let lastTimestamp = ''

/** `2026-12-01 00:30:02.5+00` (ISO, UTC) to RFC 3339 with microseconds. Rows of one transaction have one. */
export function timestamp(text: string): string {
  if (text === lastText) return lastTimestamp
  const dot = text.indexOf('.')
  const zone = text.lastIndexOf('+')
  if (zone < 0 || text[10] !== ' ') return text
  const micros = dot < 0 ? '000000' : text.slice(dot + 1, zone).padEnd(6, '0')
  lastText = text
  lastTimestamp = `${text.slice(0, 10)}T${text.slice(11, dot < 0 ? zone : dot)}.${micros}Z`
  return lastTimestamp
}

export function contentTypeOf(payloadType: string): ContentType {
  if (payloadType === 'bytea') return 'application/octet-stream'
  return payloadType === 'text' ? 'text/plain' : 'application/json'
}
