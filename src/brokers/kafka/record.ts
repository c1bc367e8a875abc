// A message as a Kafka record: key, value and headers as bytes, and its exact size on the wire.
import { reservedHeaders } from '../../core/index.ts'
import type { Message } from '../../core/index.ts'
import type { RecordHeaders, WireRecord } from './wire.ts'

/**
 * Headers that are made from the message itself. One of these names among the row's headers is left out: a record carries each once, with the message's value.
 * The version of the event comes with the row's headers.
 */
const made: ReadonlySet<string> = new Set(reservedHeaders.filter((name) => name !== 'eventVersion'))

/** Bytes of a record batch before its records. */
export const BATCH_OVERHEAD = 61

const eventId = Buffer.from('eventId')
const eventType = Buffer.from('eventType')
const eventTime = Buffer.from('eventTime')
const aggregateType = Buffer.from('aggregateType')
const contentType = Buffer.from('content-type')
const ownNamesSize = [eventId, eventType, eventTime, aggregateType, contentType].reduce((sum, name) => sum + 1 + name.length, 0)

// Event types, aggregate types and header names are few and come again and again. Bounded, for a writer may make names up.
const MAX_CACHED = 2_000

type Header = readonly [name: Buffer, value: Buffer]

/** Makes each header once for as long as its text comes again. */
function cachedHeader(name: Buffer): (text: string) => Header {
  const cache = new Map<string, Header>()
  return (text) => {
    let header = cache.get(text)
    if (header === undefined) {
      header = [name, Buffer.from(text)]
      if (cache.size >= MAX_CACHED) cache.clear()
      cache.set(text, header)
    }
    return header
  }
}

const typeHeader = cachedHeader(eventType)
const aggregateHeader = cachedHeader(aggregateType)
const contentHeader = cachedHeader(contentType)
const names = new Map<string, Buffer>()

function nameBytes(name: string): Buffer {
  let bytes = names.get(name)
  if (bytes === undefined) {
    bytes = Buffer.from(name)
    if (names.size >= MAX_CACHED) names.clear()
    names.set(name, bytes)
  }
  return bytes
}

let lastTime = ''
let lastTimeHeader: Header = [eventTime, Buffer.alloc(0)]

/** Messages of one transaction have one time. */
function timeHeader(createdAt: string): Header {
  if (createdAt !== lastTime) {
    lastTime = createdAt
    lastTimeHeader = [eventTime, Buffer.from(createdAt, 'latin1')]
  }
  return lastTimeHeader
}

/** Headers as the encoder reads them: less to make, and to clear away, than a Map for each record. */
class Headers implements RecordHeaders {
  readonly #list: readonly Header[]

  constructor(list: readonly Header[]) {
    this.#list = list
  }

  get size(): number {
    return this.#list.length
  }

  [Symbol.iterator](): Iterator<Header> {
    return this.#list[Symbol.iterator]()
  }
}

/**
 * Key, value and headers of the record; the timestamp is the time of publishing, so that a backlog isn't older than the topic's retention.
 * Records of one batch must have the same timestamp, for their size depends on its distance.
 */
export function recordOf(message: Message, topic: string, partition: number, timestamp: bigint): WireRecord {
  const key = message.key === null ? null : Buffer.from(message.key)
  const value = message.payload === null ? null : bufferOf(message.payload)
  const id = Buffer.from(message.id, 'latin1')
  const type = typeHeader(message.type)
  const time = timeHeader(message.createdAt)
  const aggregate = aggregateHeader(message.aggregateType)
  const content = contentHeader(message.contentType)
  const list: Header[] = [[eventId, id], type, time, aggregate, content]
  // Attributes and the timestamp's distance take one byte each.
  let body = 2 + fieldSize(key) + fieldSize(value) + ownNamesSize
  body += fieldSize(id) + fieldSize(type[1]) + fieldSize(time[1]) + fieldSize(aggregate[1]) + fieldSize(content[1])
  if (message.headers !== null) {
    for (const name of Object.keys(message.headers)) {
      if (made.has(name)) continue
      const bytes = nameBytes(name)
      const text = Buffer.from(message.headers[name] ?? '')
      list.push([bytes, text])
      body += fieldSize(bytes) + fieldSize(text)
    }
  }
  return { topic, partition, key, value, headers: new Headers(list), timestamp, body: body + varintSize(list.length) }
}

/** Bytes that a record takes as number `place` (from 0) of its batch. */
export function sizeInBatch(body: number, place: number): number {
  const size = body + varintSize(place)
  return varintSize(size) + size
}

function fieldSize(bytes: Buffer | null): number {
  return bytes === null ? 1 : varintSize(bytes.length) + bytes.length
}

/** Bytes of a number from 0 as Kafka's zigzag varint. */
function varintSize(value: number): number {
  if (value < 0x40) return 1
  if (value < 0x2000) return 2
  if (value < 0x100000) return 3
  if (value < 0x8000000) return 4
  return 5
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
