// Harnesses of the memory plugs: as short as those of a plug's author.
import { OutriderError } from '../../src/core/index.ts'
import { createInbox } from '../../src/inbox/index.ts'
import { row } from '../../src/testing/conformance/source-harness.ts'
import { defineEvents } from '../../src/write/index.ts'
import type { HandlingTransaction, InboxHarness } from '../../src/testing/conformance/inbox-cases.ts'
import type { Publisher, Source } from '../../src/core/index.ts'
import { createMemoryBroker, createMemoryOutbox } from '../../src/testing/index.ts'
import type { MemoryBroker, MemorySource } from '../../src/testing/index.ts'
import type { PublisherHarness } from '../../src/testing/conformance/publisher-harness.ts'
import type { SourceHarness } from '../../src/testing/conformance/source-harness.ts'

/** @param wrap changes each source, to break it */
export function memorySource(wrap: (source: MemorySource) => Source = (source) => source, patienceMs = 5_000): SourceHarness {
  return {
    can: ['lateCommits', 'loss', 'manyRelays'],
    patienceMs,
    async create() {
      const outbox = createMemoryOutbox({ contentType: 'text/plain' })
      const inner = new Map<Source, MemorySource>()
      return {
        source() {
          const memory = outbox.source()
          const source = wrap(memory)
          inner.set(source, memory)
          return source
        },
        async begin() {
          const transaction = outbox.begin()
          return {
            write: async (rows) => transaction.tx.insert(rows),
            commit: async () => transaction.commit(),
            rollback: async () => transaction.rollback(),
          }
        },
        lose: async (source) => inner.get(source)?.loseConnection(),
        close: async () => undefined,
      }
    },
  }
}

/**
 * Several publishers on one memory broker, each with the fences that it entered itself.
 * @param wrap changes each publisher, to break it
 */
export function memoryPublisher(
  wrap: (publisher: Publisher) => Publisher = (publisher) => publisher,
  patienceMs = 5_000,
): PublisherHarness {
  return {
    can: ['batchOrder', 'fence', 'manyRelays', 'refusal', 'silence', 'lateBytes'],
    patienceMs,
    async create() {
      const broker = createMemoryBroker({ partitions: 1, publishTimeoutMs: 600 })
      let isSilent = false
      const script = (silent: boolean, late: boolean): void => {
        broker.script(({ type }) => (type === 'Refusable' ? 'permanent' : silent ? 'hang' : late ? 'land-late' : undefined))
        isSilent = silent
      }
      script(false, false)
      return {
        topic: 'orders',
        publisher: () => wrap(facade(broker, () => isSilent)),
        records: async () => broker.records().map(({ headers, key, value }) => ({ eventId: headers['eventId'] ?? null, key, value })),
        refusable: (message) => ({ ...message, type: 'Refusable' }),
        silence: async () => script(true, false),
        speak: async () => script(false, false),
        delay: async () => script(false, true),
        pass: async () => script(false, false),
        land: async () => void broker.land(),
        close: () => broker.close(),
      }
    },
  }
}

function facade(broker: MemoryBroker, isSilent: () => boolean): Publisher {
  const fences = new Map<number, Uint8Array>()
  const closed = new AbortController()
  const { fence, limits } = broker
  if (fence === undefined) throw new Error('a memory broker without a fence')
  return {
    name: 'memory',
    order: broker.order,
    limits,
    fence: { advance: (lane, stored) => fence.advance(lane, stored), enter: (lane, bytes) => void fences.set(lane, bytes) },
    group: (message) => `${message.topic} ${message.key}`,
    async publish(batch, { lane, signal }) {
      if (closed.signal.aborted) throw new OutriderError('CLOSED', 'The publisher is closed. Nothing was published.')
      const ours = fences.get(lane)
      if (ours !== undefined) fence.enter(lane, ours)
      return broker.publish(batch, { lane, signal: AbortSignal.any([signal, closed.signal]) })
    },
    async check() {
      if (isSilent()) throw new OutriderError('BROKER_UNREACHABLE', 'The memory broker is silent.')
      await broker.check()
    },
    close: async () => closed.abort(),
  }
}

/** @param wrap changes each transaction, to break it */
export function memoryInbox(wrap: (tx: HandlingTransaction) => HandlingTransaction = (tx) => tx, patienceMs = 5_000): InboxHarness {
  return {
    can: ['consumers', 'overlap'],
    patienceMs,
    async create() {
      const outbox = createMemoryOutbox()
      const events = defineEvents({})
      return {
        async begin() {
          const transaction = outbox.begin()
          const { tx } = transaction
          return wrap({
            once: (consumer, id, fn) => createInbox({ consumer, events }).once(tx, { id }, fn),
            effect: async () => tx.insert([row('effect')]),
            commit: async () => transaction.commit(),
            rollback: async () => transaction.rollback(),
          })
        },
        effects: async () => outbox.entries().length,
        close: async () => undefined,
      }
    },
  }
}
