// For each case of a source one plug that breaks just that law: the memory source with one thing done wrong.
import { OutriderError } from '../../../src/core/index.ts'
import type { Grant, Message, Source } from '../../../src/core/index.ts'
import type { MemorySource } from '../../../src/testing/index.ts'
import { memorySource } from '../memory-harness.ts'
import type { SourceHarness } from '../../../src/testing/conformance/source-harness.ts'

type Wrong = (inner: MemorySource) => Partial<Source>

const patienceMs = 400

/** The memory source with some of its methods replaced. */
const broken = (wrong: Wrong): SourceHarness => memorySource((inner) => replaced(inner, wrong(inner)), patienceMs)

function replaced(inner: MemorySource, wrong: Partial<Source>): Source {
  return {
    name: inner.name,
    ownership: wrong.ownership ?? inner.ownership,
    open: wrong.open ?? ((context) => inner.open(context)),
    read: wrong.read ?? ((request) => inner.read(request)),
    settle: wrong.settle ?? ((settlements) => inner.settle(settlements)),
    storeFence: wrong.storeFence ?? ((lane, fence) => inner.storeFence(lane, fence)),
    lag: wrong.lag ?? (() => inner.lag()),
    kick: wrong.kick ?? (() => inner.kick()),
    close: wrong.close ?? (() => inner.close()),
  }
}

const grants = (inner: MemorySource, change: (grant: Grant) => Grant): Partial<Source> => ({
  ownership: { ...inner.ownership, acquire: async (request) => (await inner.ownership.acquire(request)).map(change) },
})

const changed = (inner: MemorySource, change: (messages: Message[]) => Message[]): Partial<Source> => ({
  read: async (request) => change(await inner.read(request)),
})

/** A harness whose transactions are broken instead of its source. */
function transactions(change: 'commits rollbacks' | 'forgets late ones' | 'shows open ones'): SourceHarness {
  const sound = memorySource(undefined, patienceMs)
  return {
    ...sound,
    async create() {
      const outbox = await sound.create()
      let openOnes = 0
      return {
        ...outbox,
        async begin() {
          const transaction = await outbox.begin()
          const startedWith = ++openOnes
          let wrote = false
          return {
            async write(rows) {
              if (change !== 'shows open ones') return transaction.write(rows)
              const early = await outbox.begin()
              await early.write(rows)
              await early.commit()
            },
            async commit() {
              wrote = change === 'forgets late ones' && startedWith !== openOnes
              await (wrote ? transaction.rollback() : transaction.commit())
            },
            rollback: () => (change === 'commits rollbacks' ? transaction.commit() : transaction.rollback()),
          }
        },
      }
    },
  }
}

/** Numbers above 2^53 on the memory source; `round` is what a source does that takes them for numbers. */
export function bigNumbers(round: (seq: bigint) => bigint = (seq) => seq): SourceHarness {
  const above = 2n ** 53n
  const originals = new Map<string, Message>()
  const harness = memorySource(
    (inner) =>
      replaced(inner, {
        async read(request) {
          return (await inner.read(request)).map((message) => {
            originals.set(message.id, message)
            return { ...message, seq: round(message.seq + above) }
          })
        },
        settle: (settlements) =>
          inner.settle(settlements.map((one) => ({ ...one, message: originals.get(one.message.id) ?? one.message }))),
      }),
    patienceMs,
  )
  return {
    ...harness,
    can: [...harness.can, 'bigNumbers'],
    create: async () => ({ ...(await harness.create()), numberFrom: async () => undefined }),
  }
}

export const brokenSources: Readonly<Record<string, SourceHarness>> = {
  'hands out what was committed, once': broken((inner) => {
    let last: Message[] = []
    return changed(inner, (messages) => {
      const again = [...messages, ...last.slice(0, 1)]
      last = messages
      return again
    })
  }),
  'hands out the facts as they were written': broken((inner) =>
    changed(inner, (messages) => messages.map((one) => (one.payload === null ? { ...one, payload: new Uint8Array() } : one))),
  ),
  'never hands out what was rolled back': transactions('commits rollbacks'),
  'waits for a late commit, and for nobody else': transactions('shows open ones'),
  'finds a late commit after a restart': transactions('forgets late ones'),
  'keeps the order of a lane': broken((inner) => changed(inner, (messages) => messages.toReversed())),
  'gives a lane no more than it has room for': broken((inner) => ({
    read: (request) => inner.read({ ...request, room: new Map([...request.room].map(([lane, room]) => [lane, room * 2])) }),
  })),
  'keeps within the limit of what is in flight': broken((inner) => ({
    open: (context) => inner.open({ ...context, maxInFlight: context.maxInFlight + 1 }),
  })),
  'hands out a message that is larger than the limit of bytes': broken((inner) => ({
    read: async (request) => (await inner.read(request)).filter((one) => (one.payload?.length ?? 0) <= request.maxBytes),
  })),
  'ends a read that is aborted, and loses nothing': broken((inner) => ({
    async read(request) {
      const messages = await inner.read(request)
      return request.signal.aborted ? [] : messages
    },
  })),
  'is woken by a kick, which never throws': broken((inner) => {
    let isOpen = false
    return {
      open(context) {
        isOpen = true
        return inner.open(context)
      },
      kick() {
        if (!isOpen) throw new Error('not open')
        inner.kick()
      },
    }
  }),
  'is exact beyond 2^53': bigNumbers((seq) => BigInt(Number(seq))),
  'gives again what was not settled': broken((inner) => {
    const seen: Message[] = []
    return {
      async read(request) {
        const messages = await inner.read(request)
        seen.push(...messages)
        return messages
      },
      settle: () => inner.settle(seen.map((message) => ({ kind: 'delivered', message }))),
    }
  }),
  'settles in any order': broken((inner) => {
    const seen: Message[] = []
    return {
      async read(request) {
        const messages = await inner.read(request)
        seen.push(...messages)
        return messages
      },
      settle(settlements) {
        const upTo = settlements.reduce((most, { message }) => (message.seq > most ? message.seq : most), 0n)
        return inner.settle(seen.filter((message) => message.seq <= upTo).map((message) => ({ kind: 'delivered', message })))
      },
    }
  }),
  'settles twice as once': broken((inner) => {
    const settled = new Set<bigint>()
    return {
      async settle(settlements) {
        const again = settlements.filter(({ message }) => settled.has(message.seq)).map(({ message }) => message.lane)
        for (const { message } of settlements) settled.add(message.seq)
        const { lost } = await inner.settle(settlements)
        return { lost: [...lost, ...again] }
      },
    }
  }),
  'settles while a read waits': broken((inner) => {
    let reading: Promise<unknown> = Promise.resolve()
    return {
      read(request) {
        const messages = inner.read(request)
        reading = messages
        return messages
      },
      async settle(settlements) {
        // As long as one read follows another.
        for (let awaited: Promise<unknown> | null = null; awaited !== reading;) {
          awaited = reading
          await awaited
          await new Promise((resolve) => setImmediate(resolve))
        }
        return inner.settle(settlements)
      },
    }
  }),
  'settles nothing under a stale token': broken((inner) => ({
    async settle(settlements) {
      await inner.settle(settlements)
      return { lost: [] }
    },
  })),
  'settles the other lanes when one is lost': broken((inner) => ({
    async settle(settlements) {
      const { lost } = await inner.ownership.renew({ leaseMs: 60_000 })
      return lost.length > 0 ? { lost: [...new Set(settlements.map((one) => one.message.lane))] } : inner.settle(settlements)
    },
  })),
  'gives a lane to one relay': broken((inner) => ({
    ownership: { ...inner.ownership, acquire: ({ leaseMs }) => inner.ownership.acquire({ leaseMs, max: 1_000 }) },
  })),
  'gives a new token with each grant': broken((inner) => grants(inner, (grant) => ({ ...grant, token: 1n }))),
  'names the lanes that it holds no more at a renewal': broken((inner) => ({
    ownership: {
      ...inner.ownership,
      async renew(request) {
        await inner.ownership.renew(request)
        return { lost: [] }
      },
    },
  })),
  'keeps a fence for the next holder': broken((inner) =>
    grants(inner, (grant) => ({ ...grant, fence: grant.fence === null ? null : grant.fence.slice(0, 1) })),
  ),
  'stores no fence for a lane that was lost': broken((inner) => ({
    async storeFence(lane, fence) {
      await inner.storeFence(lane, fence)
      return true
    },
  })),
  'says SOURCE_LOST until it is opened again': broken((inner) => ({
    lag: () => inner.lag().catch(() => ({ backlog: 0, oldestMs: 0 })),
  })),
  'starts from what is stored after a loss': broken((inner) => {
    const seen = new Set<bigint>()
    return changed(inner, (messages) => {
      const fresh = messages.filter((one) => !seen.has(one.seq))
      for (const one of fresh) seen.add(one.seq)
      return fresh
    })
  }),
  'says how much is undelivered': broken(() => ({ lag: async () => ({ backlog: 0, oldestMs: 0 }) })),
  'can be closed at any time': broken((inner) => {
    let isClosed = false
    return {
      async close() {
        if (isClosed) throw new OutriderError('CLOSED', 'closed already')
        isClosed = true
        await inner.close()
      },
    }
  }),
}
