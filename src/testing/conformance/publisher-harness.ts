// What a publisher's author writes, and what the cases do with it.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { Fence, Message, Publisher, Verdict } from '../../core/index.ts'
import { within } from './case.ts'
import type { ConformanceCase, Harness } from './case.ts'

/**
 * - `batchOrder`: the publisher says `order: 'batch'`.
 * - `fence`: the publisher has a fence.
 * - `manyRelays`: several publishers share one broker.
 * - `refusal`: a message can be made that the broker refuses for good.
 * - `silence`: the broker can be made to answer nothing, and to answer again.
 * - `lateBytes`: what is published can be kept under way and let land later.
 */
export type PublisherCapability = 'batchOrder' | 'fence' | 'manyRelays' | 'refusal' | 'silence' | 'lateBytes'

export interface PublisherHarness extends Harness {
  readonly can: readonly PublisherCapability[]
  /** A broker, or an empty topic on one. Called once a case. */
  create(): Promise<BrokerUnderTest>
}

export interface BrokerUnderTest {
  /** Exists, is empty and has one partition, if the broker has such things. */
  readonly topic: string
  /** A new publisher with a `publishTimeoutMs` of a few seconds at most. The case closes it. */
  publisher(): Publisher
  /** Everything that the broker holds of the topic, in its order. */
  records(): Promise<readonly BrokerRecord[]>
  /** For `refusal`: a copy that the broker refuses for good. */
  refusable?(message: Message): Message
  /** For `silence`: from now on nothing arrives and nothing is answered. */
  silence?(): Promise<void>
  /** For `silence`: all is well again. */
  speak?(): Promise<void>
  /** For `lateBytes`: from now on what is published stays under way. */
  delay?(): Promise<void>
  /** For `lateBytes`: what is published from now on arrives; what is under way stays there. */
  pass?(): Promise<void>
  /** For `lateBytes`: what is under way arrives. Resolves when the broker has judged it. */
  land?(): Promise<void>
  close(): Promise<void>
}

export interface BrokerRecord {
  readonly eventId: string | null
  readonly key: string | null
  readonly value: Uint8Array | null
}

export type PublisherCase = ConformanceCase<PublisherHarness>

let made = 0n

/** A message with made up facts; the payload is the text of `name`. */
export function message(topic: string, name: string, facts: Partial<Message> = {}): Message {
  made += 1n
  return {
    id: randomUUID(),
    seq: made,
    lane: 0,
    topic,
    key: 'k',
    type: 'Happened',
    aggregateType: 'thing',
    aggregateId: 'k',
    payload: new TextEncoder().encode(name),
    contentType: 'text/plain',
    headers: null,
    createdAt: '2026-01-01T00:00:00.000001Z',
    attempt: 0,
    ...facts,
  }
}

export const kindsOf = (verdicts: readonly Verdict[]): string[] => verdicts.map((one) => (one.kind === 'accepted' ? 'accepted' : one.class))

/** The broker of one case, and what the cases do with it again and again. */
export class PublisherKit {
  readonly broker: BrokerUnderTest
  readonly harness: PublisherHarness
  /** What the lanes' rows would hold. */
  readonly stored = new Map<number, Uint8Array>()
  readonly #publishers: Publisher[] = []

  constructor(harness: PublisherHarness, broker: BrokerUnderTest) {
    this.harness = harness
    this.broker = broker
  }

  raw(): Publisher {
    const publisher = this.broker.publisher()
    this.#publishers.push(publisher)
    return publisher
  }

  /** A publisher as a relay has it: with the fences of its lanes entered. */
  async publisher(lanes: readonly number[] = [0]): Promise<Publisher> {
    const publisher = this.raw()
    if (publisher.fence !== undefined) for (const lane of lanes) await this.fence(publisher, lane)
    return publisher
  }

  fenceOf(publisher: Publisher): Fence {
    assert(publisher.fence !== undefined, 'the harness says that there is a fence, the publisher has none')
    return publisher.fence
  }

  /** Moves a lane's fence on, as after a take-over or an unknown outcome. */
  async fence(publisher: Publisher, lane = 0): Promise<Uint8Array> {
    const fence = this.fenceOf(publisher)
    const next = await this.in('advance', fence.advance(lane, this.stored.get(lane) ?? null))
    this.stored.set(lane, next)
    fence.enter(lane, next)
    return next
  }

  message(name: string, facts: Partial<Message> = {}): Message {
    return message(this.broker.topic, name, facts)
  }

  messages(...names: readonly string[]): Message[] {
    return names.map((name) => this.message(name))
  }

  /** Publishes as the relay would: with `order: 'single'` one after another. */
  async publish(
    publisher: Publisher,
    batch: readonly Message[],
    lane = 0,
    signal: AbortSignal = new AbortController().signal,
  ): Promise<Verdict[]> {
    const parts = publisher.order === 'batch' ? [batch] : batch.map((one) => [one])
    const verdicts: Verdict[] = []
    for (const part of parts) {
      const some = await this.in('publish', publisher.publish(part, { lane, signal }))
      assert.equal(some.length, part.length, `${part.length} messages got ${some.length} verdicts`)
      verdicts.push(...some)
    }
    return verdicts
  }

  /** Publishes where no message may be accepted: the publisher may throw as well. */
  async publishInVain(publisher: Publisher, batch: readonly Message[], signal?: AbortSignal): Promise<void> {
    const never = new AbortController().signal
    const first = publisher.order === 'batch' ? batch : batch.slice(0, 1)
    const ended = publisher.publish(first, { lane: 0, signal: signal ?? never }).then(kindsOf, (): string[] => [])
    const kinds = await this.in('the end of a publish without an answer', ended)
    assert(!kinds.includes('accepted'), `accepted, though nothing confirmed it: ${kinds.join(', ')}`)
    assert(!kinds.includes('permanent'), `refused for good, though nothing is wrong with the message: ${kinds.join(', ')}`)
  }

  async accepted(publisher: Publisher, batch: readonly Message[], lane = 0): Promise<void> {
    assert.deepEqual(
      kindsOf(await this.publish(publisher, batch, lane)),
      batch.map(() => 'accepted'),
    )
  }

  async ids(): Promise<(string | null)[]> {
    return (await this.in('records', this.broker.records())).map((one) => one.eventId)
  }

  in<T>(what: string, promise: Promise<T>): Promise<T> {
    return within(this.harness, what, promise)
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#publishers.map((publisher) => publisher.close()))
    await this.broker.close()
  }
}

/** Makes a case: a broker of its own, closed at the end however it ends. */
export function publisherCase(
  name: string,
  proves: string,
  needs: readonly PublisherCapability[],
  body: (kit: PublisherKit) => Promise<void>,
): PublisherCase {
  return {
    name,
    proves,
    needs,
    async run(harness) {
      const kit = new PublisherKit(harness, await harness.create())
      try {
        await body(kit)
      } finally {
        await kit.close()
      }
    },
  }
}
