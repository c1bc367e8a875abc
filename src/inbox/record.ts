import { OutriderError } from '../core/index.ts'

/**
 * A record of any Kafka client: @platformatic/kafka, kafkajs, @confluentinc/kafka-javascript, node-rdkafka, the memory broker; alone, or in
 * the `{ topic, partition, message }` that `eachMessage` gets. Looked at by its shape.
 */
export type AnyRecord = object

/** The parts of a record that matter, whatever client it came from. */
export interface PlainRecord {
  readonly topic: string | null
  readonly partition: number | null
  readonly offset: string | null
  readonly key: string | null
  /** Bytes or text as received, null for a tombstone; anything else was parsed by the client already. */
  readonly value: unknown
  readonly headers: Readonly<Record<string, string>>
}

/** Reads a record of any client. Throws DECODE_FAILED for what is none. */
export function plainRecord(record: unknown): PlainRecord {
  if (typeof record !== 'object' || record === null) throw noRecord(record)
  const outer = record as Partial<Record<string, unknown>>
  const inner =
    typeof outer['message'] === 'object' && outer['message'] !== null ? (outer['message'] as Partial<Record<string, unknown>>) : outer
  if (!('value' in inner)) throw noRecord(record)
  const place = (name: string): unknown => inner[name] ?? outer[name]
  return {
    topic: typeof place('topic') === 'string' ? String(place('topic')) : null,
    partition: typeof place('partition') === 'number' ? Number(place('partition')) : null,
    offset: ['bigint', 'number', 'string'].includes(typeof place('offset')) ? String(place('offset')) : null,
    key: keyText(inner['key']),
    value: inner['value'] ?? null,
    headers: Object.fromEntries(headerEntries(inner['headers'])),
  }
}

const decoder = new TextDecoder()

/** Text of what a client gives as bytes or text. */
export function text(value: string | Uint8Array): string {
  return typeof value === 'string' ? value : decoder.decode(value)
}

function keyText(key: unknown): string | null {
  if (typeof key === 'string' || key instanceof Uint8Array) return text(key)
  return typeof key === 'number' || typeof key === 'bigint' ? String(key) : null
}

/** Headers come as a Map (its names may be bytes), as an object, or as a list of objects with one header each. */
function* headerEntries(headers: unknown): Generator<[string, string]> {
  if (typeof headers !== 'object' || headers === null) return
  if (headers instanceof Map) {
    for (const [name, value] of headers as Map<unknown, unknown>) {
      if (typeof name === 'string' || name instanceof Uint8Array) yield* headerEntry(text(name), value)
    }
  } else if (Array.isArray(headers)) {
    for (const one of headers) yield* headerEntries(one)
  } else {
    for (const [name, value] of Object.entries(headers)) yield* headerEntry(name, value)
  }
}

/** Of several values of one name the last one counts, as in Kafka. */
function* headerEntry(name: string, value: unknown): Generator<[string, string]> {
  const last: unknown = Array.isArray(value) ? value.at(-1) : value
  if (typeof last === 'string' || last instanceof Uint8Array) yield [name, text(last)]
}

function noRecord(got: unknown): OutriderError {
  const what =
    typeof got === 'object' && got !== null ? `an object with ${Object.keys(got).slice(0, 6).join(', ') || 'nothing in it'}` : String(got)
  return new OutriderError('DECODE_FAILED', `inbox.read got ${what}, which is no record of a Kafka client.`, {
    hint: 'Pass what the client hands over: the message with its key, value and headers.',
  })
}
