// The law of a source, first half: which messages are handed out, when, and in which order.
import assert from 'node:assert/strict'
import type { Message } from '../../core/index.ts'
import { ageless, keys, nameOf, namesOf, row, sourceCase } from './source-harness.ts'
import type { Relay, SourceCase, SourceKit } from './source-harness.ts'

const numbers = (from: number, to: number): string[] => Array.from({ length: to - from + 1 }, (_, i) => `m${from + i}`)

/** Two keys of different lanes, found by what the source says. */
async function twoLanes(kit: SourceKit, relay: Relay): Promise<readonly [Message, Message]> {
  await kit.commit(...keys.map((key) => row(`find ${key}`, { aggregateId: key })))
  const found = await kit.until(relay, ...keys.map((key) => `find ${key}`))
  await kit.settle(relay, found)
  const [first] = found
  const other = found.find((message) => message.lane !== first?.lane)
  assert(first !== undefined && other !== undefined, `${keys.length} keys are all in one lane`)
  return [first, other]
}

export const deliveryCases: readonly SourceCase[] = [
  sourceCase(
    'hands out what was committed, once',
    'In an undisturbed run every committed message is handed out exactly once, settled or not.',
    [],
    async (kit) => {
      const relay = await kit.relay()
      await kit.commit(...numbers(1, 5).map((name) => row(name)))
      const first = await kit.until(relay, ...numbers(1, 5))
      await kit.commit(row('m6'))
      await kit.until(relay, 'm6')
      await kit.settle(relay, first)
      await kit.commit(row('m7'))
      await kit.until(relay, 'm7')
      assert.deepEqual(namesOf(relay.got), numbers(1, 7))
    },
  ),
  sourceCase(
    'hands out the facts as they were written',
    'Id, topic, key, type, aggregate, payload bytes and headers come as written; a tombstone is null, an empty payload has no bytes, and the empty key is a key.',
    [],
    async (kit) => {
      const relay = await kit.relay()
      const rows = [
        row('{"a": 1.10,  "é": "\\u0041"}', { headers: { traceparent: '00-1', 'x-é': 'ü' }, topic: 'orders', key: 'override' }),
        row('', { aggregateId: 'empty' }),
        row('', { aggregateId: 'tombstone', payload: null }),
        row('no key', { aggregateId: null }),
        row('empty key', { aggregateId: 'a', key: '' }),
      ]
      await kit.commit(...rows)
      const found: Message[] = []
      while (found.length < rows.length) {
        const some = await kit.in('read', kit.read(relay))
        assert(some.length > 0, `${found.length} of ${rows.length} messages came`)
        found.push(...some)
      }
      const facts = (id: string) => {
        const message = found.find((one) => one.id === id)
        if (message === undefined) return null
        const { topic, key, type, aggregateType, aggregateId, headers, attempt } = message
        const payload = message.payload === null ? null : nameOf(message)
        return { topic, key, type, aggregateType, aggregateId, payload, headers, attempt }
      }
      for (const one of rows) {
        const { topic, key, type, aggregateType, aggregateId, payload, headers } = one
        const wanted = {
          topic: topic ?? aggregateType,
          key: key ?? aggregateId,
          type,
          aggregateType,
          aggregateId,
          payload,
          headers,
          attempt: 0,
        }
        assert.deepEqual(facts(one.id), wanted)
      }
    },
  ),
  sourceCase(
    'never hands out what was rolled back',
    'A message whose transaction was rolled back is handed out at no time.',
    [],
    async (kit) => {
      const relay = await kit.relay()
      const undone = await kit.outbox.begin()
      await undone.write([row('ghost')])
      await undone.rollback()
      await kit.commit(row('after'))
      assert.deepEqual(namesOf(await kit.until(relay, 'after')), ['after'])
      await kit.commit(row('later'))
      assert.deepEqual(namesOf(await kit.until(relay, 'later')), ['later'])
    },
  ),
  sourceCase(
    'waits for a late commit, and for nobody else',
    'A message of an open transaction is not handed out, holds back nobody else, and comes once after its commit.',
    ['lateCommits'],
    async (kit) => {
      const relay = await kit.relay()
      const late = await kit.outbox.begin()
      await late.write([row('late', { aggregateId: 'other' })])
      await kit.commit(row('early'))
      assert.deepEqual(namesOf(await kit.until(relay, 'early')), ['early'])
      await late.commit()
      assert.deepEqual(namesOf(await kit.until(relay, 'late')), ['late'])
      await kit.commit(row('after'))
      assert.deepEqual(namesOf(await kit.until(relay, 'after')), ['after'])
    },
  ),
  sourceCase(
    'finds a late commit after a restart',
    'A message that commits late is handed out although later ones were settled and another relay has taken over since.',
    ['lateCommits'],
    async (kit) => {
      const relay = await kit.relay()
      const late = await kit.outbox.begin()
      await late.write([row('late')])
      await kit.commit(row('early'))
      await kit.settle(relay, await kit.until(relay, 'early'))
      await kit.in('release', relay.source.ownership.release(relay.grants.map((grant) => grant.lane)))
      await kit.in('close', relay.source.close())
      const next = await kit.relay()
      await late.commit()
      await kit.until(next, 'late')
    },
  ),
  sourceCase(
    'keeps the order of a lane',
    'Messages of one lane come in the order of seq, within an answer and over several.',
    [],
    async (kit) => {
      const relay = await kit.relay()
      const all = numbers(1, 60)
      for (let at = 0; at < all.length; at += 15) {
        await kit.commit(...all.slice(at, at + 15).map((name, i) => row(name, { aggregateId: keys[i % 6] ?? null })))
      }
      await kit.until(relay, ...all)
      const last = new Map<number, bigint>()
      for (const { lane, seq } of relay.got) {
        assert(seq > (last.get(lane) ?? -1n), `lane ${lane} went back from ${last.get(lane)} to ${seq}`)
        last.set(lane, seq)
      }
    },
  ),
  sourceCase(
    'gives a lane no more than it has room for',
    'Lanes that are missing in room, or at 0, get nothing; the others get no more than asked for, and the rest later.',
    [],
    async (kit) => {
      const relay = await kit.relay()
      const [a, b] = await twoLanes(kit, relay)
      await kit.commit(...[a, b].flatMap(({ key }) => [1, 2, 3].map((n) => row(`${key} ${n}`, { aggregateId: key }))))
      for (const [message, others] of [
        [a, [[b.lane, 0]]],
        [b, []],
      ] as const) {
        const found: Message[] = []
        while (found.length < 3) {
          const some = await kit.in('read', kit.read(relay, { room: new Map([[message.lane, 2], ...others]) }))
          assert(some.length > 0, `lane ${message.lane} has room and messages, and got ${found.length} of 3`)
          assert(some.length <= 2, `lane ${message.lane} has room for 2 and got ${some.length}`)
          found.push(...some)
        }
        assert.deepEqual(
          namesOf(found),
          [1, 2, 3].map((n) => `${message.key} ${n}`),
        )
      }
    },
  ),
  sourceCase(
    'keeps within the limit of what is in flight',
    'Without a settlement a lane gets at most maxInFlight messages; after one it gets more.',
    [],
    async (kit) => {
      const relay = await kit.relay({ maxInFlight: 3, clock: ageless })
      await kit.commit(...numbers(1, 6).map((name) => row(name)))
      const first = await kit.until(relay, ...numbers(1, 3))
      const stop = AbortSignal.timeout(150)
      assert.deepEqual(namesOf([...first, ...(await kit.in('read that is aborted', kit.read(relay, { signal: stop })))]), numbers(1, 3))
      await kit.settle(relay, first)
      assert.deepEqual(namesOf(await kit.until(relay, ...numbers(4, 6))), numbers(4, 6))
    },
  ),
  sourceCase(
    'hands out a message that is larger than the limit of bytes',
    'A message above maxBytes comes all the same, and those behind it after it.',
    [],
    async (kit) => {
      const relay = await kit.relay()
      const large = 'x'.repeat(5_000)
      await kit.commit(row('before'), row(large), row('after'))
      const found: Message[] = []
      while (found.length < 3) {
        const some = await kit.in('read', kit.read(relay, { maxBytes: 1_000 }))
        assert(some.length > 0, `only ${found.length} of 3 came`)
        found.push(...some)
      }
      assert.deepEqual(namesOf(found), ['before', large, 'after'])
    },
  ),
  sourceCase(
    'ends a read that is aborted, and loses nothing',
    'A waiting read resolves with [] when its signal aborts, at once when it has aborted before; what comes then is handed out by the next call.',
    [],
    async (kit) => {
      const relay = await kit.relay()
      const stop = new AbortController()
      const waiting = kit.in('a read that was aborted', relay.source.read({ room: new Map([[0, 1]]), maxBytes: 1, signal: stop.signal }))
      stop.abort()
      assert.deepEqual(await waiting, [])
      await kit.commit(...numbers(1, 3).map((name) => row(name)))
      await kit.in('a read under an aborted signal', kit.read(relay, { signal: stop.signal }))
      const missing = numbers(1, 3).slice(relay.got.length)
      await kit.until(relay, ...missing)
      assert.deepEqual(namesOf(relay.got), numbers(1, 3))
    },
  ),
  sourceCase(
    'is woken by a kick, which never throws',
    'kick may come before open, while a read waits and after close; the read finds what was committed.',
    [],
    async (kit) => {
      const fresh = kit.source()
      fresh.kick()
      const relay = await kit.relay()
      const found = kit.until(relay, 'm1')
      await kit.commit(row('m1'))
      relay.source.kick()
      await found
      await kit.in('close', relay.source.close())
      relay.source.kick()
    },
  ),
  sourceCase(
    'is exact beyond 2^53',
    'Neighbouring numbers above 2^53 stay different, in order, and can be settled one by one.',
    ['bigNumbers'],
    async (kit) => {
      await kit.outbox.numberFrom?.(2n ** 53n + 1n)
      const relay = await kit.relay()
      await kit.commit(...numbers(1, 4).map((name) => row(name)))
      const found = await kit.until(relay, ...numbers(1, 4))
      const start = found[0]?.seq ?? 0n
      assert(start > 2n ** 53n, `the first number is ${start}`)
      assert.deepEqual(
        found.map((message) => message.seq - start),
        [0n, 1n, 2n, 3n],
      )
      await kit.settle(relay, found.slice(0, 3))
      await kit.in('release', relay.source.ownership.release(relay.grants.map((grant) => grant.lane)))
      await kit.in('close', relay.source.close())
      assert.deepEqual(namesOf(await kit.until(await kit.relay(), 'm4')), ['m4'])
    },
  ),
]
