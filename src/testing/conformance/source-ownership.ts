// The law of a source, second half: settling, lanes and their tokens, fences, loss and the end.
import assert from 'node:assert/strict'
import { isOutriderError } from '../../core/index.ts'
import type { Source } from '../../core/index.ts'
import { rejection } from './case.ts'
import { keys, namesOf, row, sourceCase } from './source-harness.ts'
import type { Relay, SourceCase, SourceKit } from './source-harness.ts'

const fence = (n: number): Uint8Array => Uint8Array.from([n, 0, 255, 7])
const lanesOf = (relay: Relay): number[] => relay.grants.map((grant) => grant.lane)

async function leave(kit: SourceKit, relay: Relay): Promise<void> {
  await kit.in('release', relay.source.ownership.release(lanesOf(relay)))
  await kit.in('close', relay.source.close())
}

async function assertLost(kit: SourceKit, source: Source): Promise<void> {
  const calls: Readonly<Record<string, () => Promise<unknown>>> = {
    read: () => source.read({ room: new Map([[0, 1]]), maxBytes: 1_000, signal: AbortSignal.timeout(5_000) }),
    settle: () => source.settle([]),
    acquire: () => source.ownership.acquire({ leaseMs: 1_000, max: 1 }),
    renew: () => source.ownership.renew({ leaseMs: 1_000 }),
    storeFence: () => source.storeFence(0, fence(1)),
    lag: () => source.lag(),
  }
  for (const [name, call] of Object.entries(calls)) {
    const error = await rejection(kit.harness, `${name} after a loss`, call)
    assert(isOutriderError(error, 'SOURCE_LOST') && error.retryable, `${name} after a loss rejects with ${String(error)}`)
  }
}

export const ownershipCases: readonly SourceCase[] = [
  sourceCase(
    'gives again what was not settled',
    'The next holder of a lane gets everything that was not settled, in order, and nothing that was settled along with all before it.',
    [],
    async (kit) => {
      const relay = await kit.relay()
      await kit.commit(row('m1'), row('m2'), row('m3'), row('m4'))
      const found = await kit.until(relay, 'm1', 'm2', 'm3', 'm4')
      assert.deepEqual(await kit.settle(relay, found.slice(0, 2)), { lost: [] })
      await leave(kit, relay)
      const next = await kit.relay()
      assert.deepEqual(namesOf(await kit.until(next, 'm3', 'm4')), ['m3', 'm4'])
    },
  ),
  sourceCase('settles in any order', 'A later message settled before an earlier one does not settle the earlier one.', [], async (kit) => {
    const relay = await kit.relay()
    await kit.commit(row('m1'), row('m2'))
    const found = await kit.until(relay, 'm1', 'm2')
    assert.deepEqual(await kit.settle(relay, found.slice(1)), { lost: [] })
    await leave(kit, relay)
    await kit.until(await kit.relay(), 'm1')
  }),
  sourceCase('settles twice as once', 'The same settlement again, and none at all, change nothing and lose no lane.', [], async (kit) => {
    const relay = await kit.relay()
    await kit.commit(row('m1'), row('m2'))
    const found = await kit.until(relay, 'm1', 'm2')
    for (const some of [found.slice(0, 1), found.slice(0, 1), []]) assert.deepEqual(await kit.settle(relay, some), { lost: [] })
    await leave(kit, relay)
    assert.deepEqual(namesOf(await kit.until(await kit.relay(), 'm2')), ['m2'])
  }),
  sourceCase(
    'settles while a read waits',
    'A settlement is recorded although a read is waiting, and disturbs it in nothing.',
    [],
    async (kit) => {
      const relay = await kit.relay()
      await kit.commit(row('m1'))
      const found = await kit.until(relay, 'm1')
      const waiting = kit.until(relay, 'm2')
      // When the settlement fails first, nobody looks at it any more.
      waiting.catch(() => undefined)
      assert.deepEqual(await kit.settle(relay, found), { lost: [] })
      await kit.commit(row('m2'))
      assert.deepEqual(namesOf(await waiting), ['m2'])
    },
  ),
  sourceCase(
    'settles nothing under a stale token',
    'Of a relay whose lane was taken over no settlement counts: the lane is in lost, and the new holder gets all of its messages.',
    ['manyRelays'],
    async (kit) => {
      const before = await kit.relay({ leaseMs: 1 })
      await kit.commit(...keys.map((key) => row(key, { aggregateId: key })))
      const found = await kit.until(before, ...keys)
      const after = await kit.relay({ max: 0 })
      await kit.takeAll(after)
      const { lost } = await kit.settle(before, found)
      for (const { lane } of found) assert(lost.includes(lane), `lane ${lane} was taken over, and is not in lost`)
      await kit.until(after, ...keys)
    },
  ),
  sourceCase(
    'settles the other lanes when one is lost',
    'A settlement for several lanes, one of which was taken over, is recorded for the others.',
    ['manyRelays'],
    async (kit) => {
      const before = await kit.relay({ leaseMs: 1, max: 1 })
      const [stale] = lanesOf(before)
      before.grants = [...before.grants, ...(await kit.acquire(before.source, before.lanes))]
      await kit.commit(...keys.map((key) => row(key, { aggregateId: key })))
      const found = await kit.until(before, ...keys)
      const after = await kit.relay({ max: 0 })
      const taker = performance.now() + (kit.harness.patienceMs ?? 15_000)
      let got = await kit.acquire(after.source, 1)
      while (got.length === 0 && performance.now() < taker) got = await kit.acquire(after.source, 1)
      assert.deepEqual(
        got.map((grant) => grant.lane),
        [stale],
        'only the lane whose lease has run out can be taken',
      )
      const { lost } = await kit.settle(before, found)
      assert.deepEqual(lost, found.some((message) => message.lane === stale) ? [stale] : [])
      await kit.in('close', before.source.close())
      await kit.commit(row('sentinel', { aggregateId: found.find((message) => message.lane === stale)?.key ?? null }))
      for (const message of await kit.until(after, 'sentinel')) assert.equal(message.lane, stale)
    },
  ),
  sourceCase(
    'gives a lane to one relay',
    'No two relays hold a lane at once; max is kept; a lane that is given back can be had at once.',
    ['manyRelays'],
    async (kit) => {
      const one = await kit.relay({ max: 1 })
      assert.equal(one.grants.length, 1)
      const other = await kit.relay()
      assert.equal(other.grants.length, other.lanes - 1)
      assert(!lanesOf(other).includes(lanesOf(one)[0] ?? -1), 'two relays hold one lane')
      await kit.in('release', one.source.ownership.release(lanesOf(one)))
      const more = await kit.acquire(other.source, other.lanes)
      assert.deepEqual(
        more.map((grant) => grant.lane),
        lanesOf(one),
      )
    },
  ),
  sourceCase('gives a new token with each grant', 'A lane that is granted again comes with another token.', [], async (kit) => {
    const one = await kit.relay()
    await leave(kit, one)
    const two = await kit.relay()
    assert.equal(two.grants.length, one.grants.length)
    for (const grant of two.grants) {
      const before = one.grants.find((other) => other.lane === grant.lane)
      assert.notEqual(grant.token, before?.token, `lane ${grant.lane} was granted twice under one token`)
    }
  }),
  sourceCase(
    'names the lanes that it holds no more at a renewal',
    'renew keeps what is ours, and names each lane that another relay has taken.',
    ['manyRelays'],
    async (kit) => {
      const one = await kit.relay()
      assert.deepEqual(await kit.in('renew', one.source.ownership.renew({ leaseMs: 1 })), { lost: [] })
      const two = await kit.relay({ max: 0 })
      await kit.takeAll(two)
      const { lost } = await kit.in('renew', one.source.ownership.renew({ leaseMs: 60_000 }))
      assert.deepEqual(
        lost.toSorted((a, b) => a - b),
        lanesOf(one).toSorted((a, b) => a - b),
      )
      assert.deepEqual(await kit.in('renew', two.source.ownership.renew({ leaseMs: 60_000 })), { lost: [] })
    },
  ),
  sourceCase(
    'keeps a fence for the next holder',
    'A lane has no fence at first; what was stored last comes byte by byte with the next grant.',
    [],
    async (kit) => {
      const one = await kit.relay()
      const [lane = 0] = lanesOf(one)
      for (const grant of one.grants) assert.equal(grant.fence, null)
      for (const n of [1, 2]) assert.equal(await kit.in('storeFence', one.source.storeFence(lane, fence(n))), true)
      await leave(kit, one)
      const two = await kit.relay()
      const stored = two.grants.find((grant) => grant.lane === lane)?.fence
      assert.deepEqual(stored === null || stored === undefined ? stored : [...stored], [...fence(2)])
    },
  ),
  sourceCase(
    'stores no fence for a lane that was lost',
    'storeFence answers false, and changes nothing, for a lane that another relay has taken.',
    ['manyRelays'],
    async (kit) => {
      const one = await kit.relay({ leaseMs: 1 })
      const two = await kit.relay({ max: 0 })
      await kit.takeAll(two)
      const [lane = 0] = lanesOf(two)
      assert.equal(await kit.in('storeFence', two.source.storeFence(lane, fence(2))), true)
      assert.equal(await kit.in('storeFence', one.source.storeFence(lane, fence(1))), false)
      await leave(kit, two)
      const three = await kit.relay()
      const stored = three.grants.find((grant) => grant.lane === lane)?.fence
      assert.deepEqual([...(stored ?? [])], [...fence(2)])
    },
  ),
  sourceCase(
    'says SOURCE_LOST until it is opened again',
    'After a lost connection every call rejects with a retryable SOURCE_LOST.',
    ['loss'],
    async (kit) => {
      const relay = await kit.relay()
      await kit.outbox.lose?.(relay.source)
      await assertLost(kit, relay.source)
      await kit.reopen(relay)
      await kit.commit(row('m1'))
      await kit.until(relay, 'm1')
    },
  ),
  sourceCase(
    'starts from what is stored after a loss',
    'After open all grants are gone; the lanes come with new tokens, and what was not settled is handed out again.',
    ['loss'],
    async (kit) => {
      const relay = await kit.relay()
      await kit.commit(row('m1'), row('m2'))
      const found = await kit.until(relay, 'm1', 'm2')
      await kit.settle(relay, found.slice(0, 1))
      const before = new Map(relay.grants.map((grant) => [grant.lane, grant.token]))
      await kit.outbox.lose?.(relay.source)
      await kit.reopen(relay)
      assert.equal(relay.grants.length, before.size)
      for (const grant of relay.grants) assert.notEqual(grant.token, before.get(grant.lane), 'a grant outlived the loss')
      assert.deepEqual(namesOf(await kit.until(relay, 'm2')), ['m2'])
    },
  ),
  sourceCase(
    'says how much is undelivered',
    'lag grows with what is committed and shrinks with what is settled; ages are never negative.',
    [],
    async (kit) => {
      const relay = await kit.relay()
      await kit.commit(...keys.map((key) => row(key, { aggregateId: key })))
      const full = await kit.in('lag', relay.source.lag())
      assert(full.backlog > 0, `${keys.length} messages are undelivered, the backlog says ${full.backlog}`)
      assert(full.oldestMs >= 0)
      await kit.settle(relay, await kit.until(relay, ...keys))
      const { backlog, oldestMs } = await kit.in('lag', relay.source.lag())
      assert(backlog < full.backlog, `all is delivered, the backlog says ${backlog}`)
      assert(oldestMs >= 0)
    },
  ),
  sourceCase(
    'can be closed at any time',
    'close may come before open, twice, and while a read waits, which then ends.',
    [],
    async (kit) => {
      const fresh = kit.source()
      await kit.in('close before open', fresh.close())
      const relay = await kit.relay()
      const waiting = kit.read(relay, { signal: new AbortController().signal }).then(
        (messages) => messages,
        () => [],
      )
      await kit.in('close', Promise.all([relay.source.close(), relay.source.close()]))
      assert.deepEqual(await kit.in('the end of a read whose source is closed', waiting), [])
      await kit.in('close once more', relay.source.close())
    },
  ),
]
