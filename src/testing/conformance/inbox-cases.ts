// What an inbox's author writes, and the law that an inbox is held to.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { rejection, within } from './case.ts'
import type { ConformanceCase, Harness } from './case.ts'

/**
 * - `consumers`: several consumers share one inbox.
 * - `overlap`: two transactions can be open at once.
 */
export type InboxCapability = 'consumers' | 'overlap'

export interface InboxHarness extends Harness {
  readonly can: readonly InboxCapability[]
  /** An empty inbox, and a place for effects, in one database. Called once a case. */
  create(): Promise<InboxUnderTest>
}

export interface InboxUnderTest {
  begin(): Promise<HandlingTransaction>
  /** Number of effects that are committed. */
  effects(): Promise<number>
  close(): Promise<void>
}

export interface HandlingTransaction {
  /** The inbox's `once`, in this transaction, for this consumer. */
  once<T>(consumer: string, id: string, fn: () => T | Promise<T>): Promise<{ readonly status: string; readonly value?: unknown }>
  /** Changes something of the application's own, in this transaction. */
  effect(): Promise<void>
  commit(): Promise<void>
  rollback(): Promise<void>
}

export type InboxCase = ConformanceCase<InboxHarness>

class InboxKit {
  readonly harness: InboxHarness
  readonly inbox: InboxUnderTest

  constructor(harness: InboxHarness, inbox: InboxUnderTest) {
    this.harness = harness
    this.inbox = inbox
  }

  begin(): Promise<HandlingTransaction> {
    return this.in('begin', this.inbox.begin())
  }

  /** Handles a message with one effect, in a transaction of its own. */
  async handle(id: string, consumer = 'one'): Promise<string> {
    const tx = await this.begin()
    const { status } = await this.in(
      'once',
      tx.once(consumer, id, () => tx.effect()),
    )
    await tx.commit()
    return status
  }

  async assertEffects(wanted: number): Promise<void> {
    assert.equal(await this.in('effects', this.inbox.effects()), wanted, 'effects that are committed')
  }

  in<T>(what: string, promise: Promise<T>): Promise<T> {
    return within(this.harness, what, promise)
  }
}

function inboxCase(
  name: string,
  proves: string,
  needs: readonly InboxCapability[],
  body: (kit: InboxKit, id: string) => Promise<void>,
): InboxCase {
  return {
    name,
    proves,
    needs,
    async run(harness) {
      const inbox = await harness.create()
      try {
        await body(new InboxKit(harness, inbox), randomUUID())
      } finally {
        await inbox.close()
      }
    },
  }
}

/** Every law of an inbox. */
export const inboxCases: readonly InboxCase[] = [
  inboxCase('handles a message', 'The first time the work is done, and its value is passed on.', [], async (kit, id) => {
    const tx = await kit.begin()
    const result = await tx.once('one', id, async () => {
      await tx.effect()
      return 42
    })
    await tx.commit()
    assert.equal(result.status, 'processed')
    assert.equal(result.value, 42)
    await kit.assertEffects(1)
  }),
  inboxCase(
    'handles it once',
    'After the commit every further delivery is a duplicate, and no work is done for it.',
    [],
    async (kit, id) => {
      assert.equal(await kit.handle(id), 'processed')
      assert.equal(await kit.handle(id), 'duplicate')
      assert.equal(await kit.handle(id), 'duplicate')
      await kit.assertEffects(1)
    },
  ),
  inboxCase('handles other messages', 'A message is told from another by its whole id.', [], async (kit, id) => {
    assert.equal(await kit.handle(id), 'processed')
    const last = id.endsWith('0') ? '1' : '0'
    assert.equal(await kit.handle(`${id.slice(0, -1)}${last}`), 'processed')
    await kit.assertEffects(2)
  }),
  inboxCase(
    'handles it again after a rollback',
    'When the transaction is rolled back the message counts as never handled.',
    [],
    async (kit, id) => {
      const tx = await kit.begin()
      await tx.once('one', id, () => tx.effect())
      await tx.rollback()
      await kit.assertEffects(0)
      assert.equal(await kit.handle(id), 'processed')
      await kit.assertEffects(1)
    },
  ),
  inboxCase(
    'undoes what failed, even if the caller commits',
    'An error of the work is passed on; neither the note of the message nor the work survives a commit after it.',
    [],
    async (kit, id) => {
      const tx = await kit.begin()
      const failed = new Error('the work failed')
      const error = await rejection(kit.harness, 'once, whose work fails', () =>
        tx.once('one', id, async () => {
          await tx.effect()
          throw failed
        }),
      )
      assert.equal(error, failed)
      await tx.commit()
      await kit.assertEffects(0)
      assert.equal(await kit.handle(id), 'processed')
      await kit.assertEffects(1)
    },
  ),
  inboxCase('sees a duplicate within a transaction', 'The same message twice in one transaction is handled once.', [], async (kit, id) => {
    const tx = await kit.begin()
    assert.equal((await tx.once('one', id, () => tx.effect())).status, 'processed')
    assert.equal((await tx.once('one', id, () => tx.effect())).status, 'duplicate')
    await tx.commit()
    await kit.assertEffects(1)
  }),
  inboxCase('keeps consumers apart', 'Each consumer handles each message once.', ['consumers'], async (kit, id) => {
    assert.equal(await kit.handle(id, 'one'), 'processed')
    assert.equal(await kit.handle(id, 'other'), 'processed')
    assert.equal(await kit.handle(id, 'other'), 'duplicate')
    await kit.assertEffects(2)
  }),
  inboxCase(
    'lets one of two at once work',
    'A second delivery waits for the first, and is a duplicate once that has committed.',
    ['overlap'],
    async (kit, id) => {
      const first = await kit.begin()
      await first.once('one', id, () => first.effect())
      const second = kit.handle(id)
      await first.commit()
      assert.equal(await second, 'duplicate')
      await kit.assertEffects(1)
    },
  ),
  inboxCase(
    'takes over from one that fails',
    'A second delivery that waited does the work when the first is rolled back.',
    ['overlap'],
    async (kit, id) => {
      const first = await kit.begin()
      await first.once('one', id, () => first.effect())
      const second = kit.handle(id)
      await first.rollback()
      assert.equal(await second, 'processed')
      await kit.assertEffects(1)
    },
  ),
]
