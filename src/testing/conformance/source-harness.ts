// What a source's author writes, and what the cases do with it.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Clock, Grant, Message, OutboxRow, Source, SourceContext } from '../../core/index.ts'
import { within } from './case.ts'
import type { ConformanceCase, Harness } from './case.ts'

/**
 * - `lateCommits`: a transaction can stay open while others commit.
 * - `loss`: a source's connection can be cut.
 * - `manyRelays`: several sources share one outbox.
 * - `bigNumbers`: numbers can be made to begin above 2^53.
 */
export type SourceCapability = 'lateCommits' | 'loss' | 'manyRelays' | 'bigNumbers'

export interface SourceHarness extends Harness {
  readonly can: readonly SourceCapability[]
  /** An empty outbox with at least two lanes. Called once a case. */
  create(): Promise<OutboxUnderTest>
}

export interface OutboxUnderTest {
  /** A new source on this outbox, not opened yet. The case closes it. */
  source(): Source
  begin(): Promise<WritingTransaction>
  /** For `loss`: cuts the connections of an open source, as a crash of the server would. */
  lose?(source: Source): Promise<void>
  /** For `bigNumbers`: the next row gets this number or a higher one. */
  numberFrom?(seq: bigint): Promise<void>
  /** Called at the end of the case, after its sources are closed. */
  close(): Promise<void>
}

export interface WritingTransaction {
  write(rows: readonly OutboxRow[]): Promise<void>
  commit(): Promise<void>
  rollback(): Promise<void>
}

export type SourceCase = ConformanceCase<SourceHarness>

const realClock: Clock = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  sleep: (ms, signal) => delay(ms, undefined, signal === undefined ? {} : { signal }).catch(() => undefined),
}
/** Sleeps take their time, but nothing ages. */
export const ageless: Clock = { ...realClock, monotonicMs: () => 1_000_000 }

/** A row with made up facts; the payload is the text of `name`. */
export function row(name: string, facts: Partial<OutboxRow> = {}): OutboxRow {
  return {
    id: randomUUID(),
    aggregateType: 'thing',
    aggregateId: 'k',
    type: 'Happened',
    payload: name,
    headers: null,
    topic: null,
    key: null,
    ...facts,
  }
}

export const nameOf = (message: Message): string => new TextDecoder().decode(message.payload ?? new Uint8Array())
export const namesOf = (messages: readonly Message[]): string[] => messages.map(nameOf)
export const keys: readonly string[] = Array.from({ length: 24 }, (_, i) => `key ${i}`)

export interface RelayOptions {
  readonly leaseMs?: number
  readonly max?: number
  readonly maxInFlight?: number
  readonly clock?: Clock
}

/** A source as a relay has it: opened, with the lanes that it got. */
export interface Relay {
  readonly source: Source
  readonly lanes: number
  grants: readonly Grant[]
  readonly context: SourceContext
  /** Everything that was handed out so far, in that order. */
  readonly got: Message[]
}

/** The outbox of one case, and what the cases do with it again and again. */
export class SourceKit {
  readonly outbox: OutboxUnderTest
  readonly harness: SourceHarness
  readonly #sources: Source[] = []

  constructor(harness: SourceHarness, outbox: OutboxUnderTest) {
    this.harness = harness
    this.outbox = outbox
  }

  source(): Source {
    const source = this.outbox.source()
    this.#sources.push(source)
    return source
  }

  async relay(options: RelayOptions = {}): Promise<Relay> {
    const source = this.source()
    const context: SourceContext = {
      relayId: randomUUID(),
      relayName: 'conformance',
      clock: options.clock ?? realClock,
      report: () => undefined,
      batchSize: 100,
      maxInFlight: options.maxInFlight ?? 1_000,
    }
    const { lanes } = await this.in('open', source.open(context))
    const grants = await this.acquire(source, options.max ?? lanes, options.leaseMs)
    return { source, lanes, grants, context, got: [] }
  }

  acquire(source: Source, max: number, leaseMs = 60_000): Promise<readonly Grant[]> {
    return max === 0 ? Promise.resolve([]) : this.in('acquire', source.ownership.acquire({ leaseMs, max }))
  }

  /** As a relay whose lanes' leases have run out does: asks until it has them all. */
  async takeAll(relay: Relay): Promise<void> {
    const grants: Grant[] = [...relay.grants]
    await this.in(
      'a lane whose lease has run out can be taken',
      (async () => {
        const end = performance.now() + (this.harness.patienceMs ?? 15_000)
        while (grants.length < relay.lanes && performance.now() < end) {
          grants.push(...(await relay.source.ownership.acquire({ leaseMs: 60_000, max: relay.lanes })))
          await delay(5)
        }
        assert.equal(grants.length, relay.lanes, 'not all lanes could be taken after their leases had run out')
      })(),
    )
    relay.grants = grants
  }

  /** Reopens a source after its loss, with all lanes. */
  async reopen(relay: Relay): Promise<void> {
    await this.in('open after a loss', relay.source.open(relay.context))
    relay.grants = await this.acquire(relay.source, relay.lanes)
  }

  async commit(...rows: readonly OutboxRow[]): Promise<void> {
    const transaction = await this.outbox.begin()
    await transaction.write(rows)
    await transaction.commit()
  }

  /** One read; it is given up when the patience ends. */
  async read(
    relay: Relay,
    facts: { room?: ReadonlyMap<number, number>; maxBytes?: number; signal?: AbortSignal } = {},
  ): Promise<Message[]> {
    const room = facts.room ?? new Map(Array.from({ length: relay.lanes }, (_, lane) => [lane, 100]))
    const { signal = AbortSignal.timeout(this.harness.patienceMs ?? 15_000) } = facts
    const messages = await relay.source.read({ room, maxBytes: facts.maxBytes ?? 1_000_000, signal })
    relay.got.push(...messages)
    return messages
  }

  /** Reads until all of these have been handed out since the call, and passes on everything that came. */
  async until(relay: Relay, ...names: readonly string[]): Promise<Message[]> {
    const missing = new Set(names)
    const found: Message[] = []
    const end = performance.now() + (this.harness.patienceMs ?? 15_000)
    while (missing.size > 0) {
      assert(performance.now() < end, `never handed out: ${[...missing].join(', ')}; but: ${namesOf(found).join(', ') || 'nothing'}`)
      const messages = await this.in('read', this.read(relay))
      for (const message of messages) missing.delete(nameOf(message))
      found.push(...messages)
    }
    return found
  }

  settle(relay: Relay, messages: readonly Message[]): Promise<{ readonly lost: readonly number[] }> {
    return this.in('settle', relay.source.settle(messages.map((message) => ({ kind: 'delivered', message }))))
  }

  in<T>(what: string, promise: Promise<T>): Promise<T> {
    return within(this.harness, what, promise)
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#sources.map((source) => source.close()))
    await this.outbox.close()
  }
}

/** Makes a case: an outbox of its own, closed at the end however it ends. */
export function sourceCase(
  name: string,
  proves: string,
  needs: readonly SourceCapability[],
  body: (kit: SourceKit) => Promise<void>,
): SourceCase {
  return {
    name,
    proves,
    needs,
    async run(harness) {
      const kit = new SourceKit(harness, await harness.create())
      try {
        await body(kit)
      } finally {
        await kit.close()
      }
    },
  }
}
