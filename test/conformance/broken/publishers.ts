// For each case of a publisher one plug that breaks just that law: the memory broker with one thing done wrong.
import { setTimeout as delay } from 'node:timers/promises'
import type { Message, PublishContext, Publisher, Verdict } from '../../../src/core/index.ts'
import type { PublisherHarness } from '../../../src/testing/conformance/publisher-harness.ts'
import { memoryPublisher } from '../memory-harness.ts'

const patienceMs = 1_500
const broken = (wrong: (inner: Publisher) => Partial<Publisher>): PublisherHarness =>
  memoryPublisher((inner) => ({ ...inner, ...wrong(inner) }), patienceMs)

const accepted: Verdict = { kind: 'accepted', position: null }
type Publish = (batch: readonly Message[], context: PublishContext) => Promise<Verdict[]>
const publishing =
  (change: (inner: Publisher) => Publish) =>
  (inner: Publisher): Partial<Publisher> => ({ publish: change(inner) })

export const brokenPublishers: Readonly<Record<string, PublisherHarness>> = {
  'stores what it says it accepted': broken(
    publishing((inner) => async (batch, context) => {
      await inner.publish(batch.slice(0, -1), context)
      return batch.map(() => accepted)
    }),
  ),
  'gives each message its own verdict': broken(
    publishing(
      (inner) => async (batch, context) =>
        (await inner.publish(batch, context)).toReversed().toSorted((a) => (a.kind === 'accepted' ? 1 : -1)),
    ),
  ),
  'keeps the order of a batch': broken(
    publishing((inner) => async (batch, context) => (await inner.publish(batch.toReversed(), context)).toReversed()),
  ),
  'accepts nothing behind a refused message of its key': broken(
    publishing((inner) => async (batch, context) => (await Promise.all(batch.map((one) => inner.publish([one], context)))).flat()),
  ),
  'publishes for several lanes at once': broken((inner) => {
    let isBusy = false
    return {
      async publish(batch, context) {
        if (isBusy) throw new Error('one at a time')
        isBusy = true
        try {
          return await inner.publish(batch, context)
        } finally {
          isBusy = false
        }
      },
    }
  }),
  'takes the messages of a key into one group': broken(() => ({ group: (message) => message.id })),
  'ends by its own deadline': memoryPublisher(
    (inner) => ({
      ...inner,
      async publish(batch, context) {
        const verdicts = await inner.publish(batch, context)
        if (verdicts.some((one) => one.kind === 'refused' && one.class === 'unknown')) await delay(1_200)
        return verdicts
      },
    }),
    5_000,
  ),
  'ends when the relay gives up': broken(
    publishing(
      (inner) =>
        (batch, { lane }) =>
          inner.publish(batch, { lane, signal: new AbortController().signal }),
    ),
  ),
  'goes on after a silence': broken((inner) => {
    let isDead = false
    return {
      async publish(batch, context) {
        if (isDead) throw new Error('once silent, always silent')
        const verdicts = await inner.publish(batch, context)
        isDead = verdicts.some((one) => one.kind === 'refused' && one.class === 'unknown')
        return verdicts
      },
    }
  }),
  'has a fence, or none at all': memoryPublisher(({ fence: _fence, ...rest }) => rest, patienceMs),
  'moves the fence on': broken(({ fence }) =>
    fence === undefined ? {} : { fence: { ...fence, advance: async (lane, stored) => stored ?? fence.advance(lane, null) } },
  ),
  'changes nothing by advance alone': broken((inner) => {
    const { fence } = inner
    if (fence === undefined) return {}
    const entered = new Set<number>()
    return {
      fence: {
        advance(lane, stored) {
          entered.delete(lane)
          return fence.advance(lane, stored)
        },
        enter(lane, bytes) {
          entered.add(lane)
          fence.enter(lane, bytes)
        },
      },
      async publish(batch, context) {
        if (!entered.has(context.lane)) throw new Error('between two fences')
        return inner.publish(batch, context)
      },
    }
  }),
  'refuses bytes that land late': broken(({ fence }) =>
    fence === undefined ? {} : { fence: { ...fence, enter: (lane) => fence.enter(lane, new TextEncoder().encode('0')) } },
  ),
  'shuts out the holder before': broken(({ fence }) => {
    // A fence that is the same for all: nobody is shut out.
    return fence === undefined ? {} : { fence: { ...fence, enter: (lane) => fence.enter(lane, new TextEncoder().encode('5')) } }
  }),
  'knows whether it can publish': broken(() => ({ check: () => Promise.reject(new Error('no')) })),
  'says so when it can not publish': broken(() => ({ check: () => Promise.resolve() })),
  'can be closed at any time': broken(() => ({ close: () => Promise.resolve() })),
  'ends what is under way when it is closed': broken((inner) => ({
    limits: { publishTimeoutMs: 600 },
    async publish(batch, context) {
      const verdicts = await inner.publish(batch, context)
      // The end that close gives is swallowed: it waits on.
      if (verdicts.some((one) => one.kind === 'refused' && one.class === 'unknown')) await new Promise<never>(() => undefined)
      return verdicts
    },
  })),
}
