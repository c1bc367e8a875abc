// For each case of an inbox one that breaks just that law: the inbox in memory with one thing done wrong.
import type { HandlingTransaction, InboxHarness } from '../../../src/testing/conformance/inbox-cases.ts'
import { memoryInbox } from '../memory-harness.ts'

type Once = HandlingTransaction['once']

const broken = (wrong: (inner: HandlingTransaction) => Partial<HandlingTransaction>): InboxHarness =>
  memoryInbox((inner) => ({ ...inner, ...wrong(inner) }), 400)

/** Remembers outside of the transaction. */
function besideTransaction(keep: Set<string>): InboxHarness {
  return broken(() => ({
    once: async (consumer, id, fn) => {
      const name = `${consumer} ${id}`
      if (keep.has(name)) return { status: 'duplicate' }
      keep.add(name)
      return { status: 'processed', value: await fn() }
    },
  }))
}

const renamed = (change: (consumer: string, id: string) => readonly [string, string]): InboxHarness =>
  broken((inner) => {
    const once: Once = (consumer, id, fn) => inner.once(...change(consumer, id), fn)
    return { once }
  })

const never: Once = async (_consumer, _id, fn) => ({ status: 'processed', value: await fn() })

export const brokenInboxes: Readonly<Record<string, InboxHarness>> = {
  'handles a message': broken((inner) => ({
    once: async (consumer, id, fn) => ({ status: (await inner.once(consumer, id, fn)).status }),
  })),
  'handles it once': broken(() => ({ once: never })),
  'handles other messages': renamed((consumer, id) => [consumer, id.slice(0, -1)]),
  'handles it again after a rollback': besideTransaction(new Set()),
  'undoes what failed, even if the caller commits': broken((inner) => ({
    async once(consumer, id, fn) {
      let failure: { error: unknown } | null = null
      const result = await inner.once(consumer, id, async () => {
        try {
          return await fn()
        } catch (error) {
          failure = { error }
          return undefined
        }
      })
      if (failure !== null) throw (failure as { error: unknown }).error
      return result
    },
  })),
  'sees a duplicate within a transaction': broken((inner) => {
    const mine = new Set<string>()
    return {
      async once(consumer, id, fn) {
        if (mine.has(id)) return never(consumer, id, fn)
        mine.add(id)
        return inner.once(consumer, id, fn)
      },
    }
  }),
  'keeps consumers apart': renamed((_consumer, id) => ['all', id]),
  'lets one of two at once work': broken(() => ({ once: never })),
  'takes over from one that fails': besideTransaction(new Set()),
}
