// Harnesses of the memory plugs: as short as those of a plug's author.
import type { Source } from '../../src/core/index.ts'
import { createMemoryOutbox } from '../../src/testing/index.ts'
import type { MemorySource } from '../../src/testing/index.ts'
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
