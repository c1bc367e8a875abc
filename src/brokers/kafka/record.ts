// A message as a Kafka record: key, value and headers as bytes, and its exact size on the wire.
import { reservedHeaders } from '../../core/index.ts'
import type { Message } from '../../core/index.ts'
import type { WireRecord } from './wire.ts'

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
const cache = new Map<string, Buffer>()

function cached(text: string): Buffer {
  let bytes = cache.get(text)
  if (bytes === undefined) {
    bytes = Buffer.from(text)
    if (cache.size >= MAX_CACHED) cache.clear()
    cache.set(text, bytes)
  }
  return bytes
}

let lastTime = ''
let lastTimeBytes = Buffer.alloc(0)

/** Messages of one transaction have one time. */
function timeBytes(createdAt: string): Buffer {
  if (createdAt !== lastTime) {
    lastTime = createdAt
    lastTimeBytes = Buffer.from(createdAt, 'latin1')
  }
  return lastTimeBytes
}

/**
 * Key, value and headers of the record; the timestamp is the time of publishing, so that a backlog isn't older than the topic's retention.
 * Records of one batch must have the same timestamp, for their size depends on its distance.
 */
export function recordOf(message: Message, topic: string, partition: number, timestamp: bigint): WireRecord {
  const key = message.key === null ? null : Buffer.from(message.key)
  const value = message.payload === null ? null : bufferOf(message.payload)
  const headers = new Map<Buffer, Buffer>()
  const id = Buffer.from(message.id, 'latin1')
  const type = cached(message.type)
  const time = timeBytes(message.createdAt)
  const aggregate = cached(message.aggregateType)
  const content = cached(message.contentType)
  headers.set(eventId, id)
  headers.set(eventType, type)
  headers.set(eventTime, time)
  headers.set(aggregateType, aggregate)
  headers.set(contentType, content)
  // Attributes and the timestamp's distance take one byte each.
  let body = 2 + fieldSize(key) + fieldSize(value) + ownNamesSize
  body += fieldSize(id) + fieldSize(type) + fieldSize(time) + fieldSize(aggregate) + fieldSize(content)
  if (message.headers !== null) {
    for (const name of Object.keys(message.headers)) {
      if (made.has(name)) continue
      const nameBytes = cached(name)
      const text = Buffer.from(message.headers[name] ?? '')
      headers.set(nameBytes, text)
      body += fieldSize(nameBytes) + fieldSize(text)
    }
  }
  return { topic, partition, key, value, headers, timestamp, body: body + varintSize(headers.size) }
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
