// Publishing through a producer of the user's own. It numbers, retries and partitions by itself, so there is no fence, no verdict for a single record of a batch,
// and one message of a key at a time; one send is under way at once, for such producers have lost messages when sends overlapped.
import { OutriderError, textOf } from '../../core/index.ts'
import type { Clock, Message, Publisher, Refused, Verdict } from '../../core/index.ts'
import { Call } from './call.ts'
import { findingOf, nameOf } from './classify.ts'
import type { Sender } from './client.ts'
import { BATCH_OVERHEAD, recordOf, sizeInBatch } from './record.ts'
import { behind, refusal } from './refusal.ts'
import { Turns } from './turns.ts'
import type { WireRecord } from './wire.ts'

export interface OwnProducerSettings {
  readonly publishTimeoutMs: number
  readonly maxRequestBytes: number
  readonly topic: (message: Message) => string
}

interface Item {
  readonly message: Message
  readonly record: WireRecord
  readonly bytes: number
  verdict: Verdict
}

export function createOwnProducerPublisher(settings: OwnProducerSettings, sender: Sender, clock: Clock): Publisher {
  const turns = new Turns()
  const lastOffsets = new Map<string, bigint>()
  let connected: Promise<void> | null = null
  let isClosed = false

  const connect = async (): Promise<void> => {
    connected ??= sender.connect()
    try {
      await connected
    } catch (error) {
      connected = null
      throw error
    }
  }

  const send = async (topic: string, items: readonly Item[], call: Call): Promise<void> => {
    const give = (verdict: Verdict): void => {
      for (const item of items) item.verdict = verdict
    }
    if (call.leftMs === 0 || call.isAborted) return
    try {
      const done = await call.within(
        sender.send(
          topic,
          items.map((item) => item.record),
        ),
      )
      if (done === null) return give(refusal('unknown', 'NO_ANSWER', `the producer gave no answer within ${settings.publishTimeoutMs} ms`))
      for (const { partition, offset } of done.value) {
        const place = `${topic}/${partition}`
        const last = lastOffsets.get(place)
        if (offset < 0n || (last !== undefined && offset <= last)) {
          lastOffsets.delete(place)
          return give(
            refusal('unknown', 'BROKER_ANSWER_INVALID', `the producer gave offset ${offset} for ${place} after ${last ?? 'none'}`),
          )
        }
        lastOffsets.set(place, offset)
      }
      give({ kind: 'accepted', position: null })
    } catch (error) {
      const verdict = verdictOf(error)
      // Some of them may be stored, and nobody says which one was wrong: one at a time the broker does.
      if (items.length > 1 && verdict.class !== 'unknown') {
        for (const item of items) await send(topic, [item], call)
      } else give(verdict)
    }
  }

  return {
    name: 'kafka (own producer)',
    order: 'single',
    limits: { publishTimeoutMs: settings.publishTimeoutMs },
    async publish(batch, { signal }) {
      if (isClosed) throw new OutriderError('CLOSED', 'The Kafka publisher is closed. Nothing was sent.')
      const call = new Call(clock, settings.publishTimeoutMs, signal)
      const turn = turns.take(null)
      try {
        if ((await turn.begin(call)) === null) return batch.map(() => behind('NO_TIME_LEFT', 'earlier batches took all the time'))
        try {
          if ((await call.within(connect())) === null)
            return batch.map(() => refusal('unavailable', 'BROKER_UNREACHABLE', 'the producer did not connect in time'))
        } catch (error) {
          const verdict = refusal('unavailable', 'BROKER_UNREACHABLE', `the producer can't connect: ${textOf(error)}`)
          return batch.map(() => verdict)
        }
        const items = batch.map((message) => itemOf(message, settings, clock))
        for (const [topic, here] of Map.groupBy(items, (item) => item.record.topic)) {
          for (const part of parts(here, settings.maxRequestBytes)) await send(topic, part, call)
        }
        return items.map((item) => item.verdict)
      } finally {
        turn.end()
        call.end()
      }
    },
    async check() {
      if (isClosed) throw new OutriderError('CLOSED', 'The Kafka publisher is closed.')
      const call = new Call(clock, settings.publishTimeoutMs, new AbortController().signal)
      try {
        if ((await call.within(connect())) === null) throw new Error(`no connection within ${settings.publishTimeoutMs} ms`)
      } catch (cause) {
        throw new OutriderError('BROKER_UNREACHABLE', `The producer can't connect to Kafka: ${textOf(cause)}. Nothing was sent.`, {
          retryable: true,
          cause,
        })
      } finally {
        call.end()
      }
    },
    // The producer is the user's: whoever made it ends it.
    async close() {
      isClosed = true
    },
  }
}

function itemOf(message: Message, settings: OwnProducerSettings, clock: Clock): Item {
  const record = recordOf(message, settings.topic(message), 0, BigInt(Math.trunc(clock.wallMs())))
  const bytes = sizeInBatch(record.body, 0)
  return { message, record, bytes, verdict: behind('NO_TIME_LEFT', 'earlier batches took all the time') }
}

/** What fits into one send; a message that fits into none gets its verdict here. */
function parts(items: readonly Item[], limit: number): Item[][] {
  const all: Item[][] = []
  let part: Item[] = []
  let bytes = BATCH_OVERHEAD
  for (const item of items) {
    if (BATCH_OVERHEAD + item.bytes > limit) {
      const detail = `${BATCH_OVERHEAD + item.bytes} bytes on the wire, with key and headers; the limit is ${limit} (maxRequestBytes of the publisher)`
      item.verdict = refusal('permanent', 'MESSAGE_TOO_LARGE', detail)
      continue
    }
    if (part.length > 0 && bytes + item.bytes > limit) {
      all.push(part)
      part = []
      bytes = BATCH_OVERHEAD
    }
    part.push(item)
    // The place in the batch may take two bytes more.
    bytes += item.bytes + 2
  }
  if (part.length > 0) all.push(part)
  return all
}

/** Only an error code of a broker says that nothing was stored; anything else leaves it open. */
function verdictOf(error: unknown): Refused {
  const code = brokerCode(error, 0)
  const detail = `the producer failed: ${textOf(error)}`
  if (code === null) return refusal('unknown', 'SEND_FAILED', detail)
  const finding = findingOf(code)
  switch (finding) {
    case 'tooLarge':
    case 'badRecord':
    case 'topicRefused':
      return refusal('permanent', nameOf(code), detail)
    case 'missing':
    case 'forbidden':
      return refusal('transient', nameOf(code), detail)
    case 'throttled':
      return refusal('throttled', nameOf(code), detail)
    default:
      return refusal('unknown', nameOf(code), detail)
  }
}

/** Kafka's error code, wherever a library put it: `code` or `apiCode` of the error, of its cause, or of the errors in it. */
function brokerCode(error: unknown, depth: number): number | null {
  if (typeof error !== 'object' || error === null || depth > 5) return null
  const found = error as { code?: unknown; apiCode?: unknown; cause?: unknown; errors?: unknown; originalError?: unknown }
  for (const code of [found.apiCode, found.code]) if (typeof code === 'number' && code > 0) return code
  for (const inner of [found.cause, found.originalError, ...(Array.isArray(found.errors) ? (found.errors as unknown[]) : [])]) {
    const code = brokerCode(inner, depth + 1)
    if (code !== null) return code
  }
  return null
}
