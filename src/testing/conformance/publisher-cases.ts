import assert from 'node:assert/strict'
import { isOutriderError } from '../../core/index.ts'
import { rejection } from './case.ts'
import { kindsOf, publisherCase } from './publisher-harness.ts'
import type { PublisherCase } from './publisher-harness.ts'

const names = (from: number, to: number): string[] => Array.from({ length: to - from + 1 }, (_, i) => `m${from + i}`)

const facts = (id: string | null, key: string | null, value: Uint8Array | null) => [id, key, value === null ? null : [...value]]

/** Every law of the contract of a publisher. */
export const publisherCases: readonly PublisherCase[] = [
  publisherCase(
    'stores what it says it accepted',
    'Every message gets a verdict, and each that was accepted is stored once with its id, key and bytes; a tombstone is null.',
    [],
    async (kit) => {
      const publisher = await kit.publisher()
      const batch = [
        kit.message('{"a": 1.10}', { key: 'a' }),
        kit.message('', { key: 'b', payload: Uint8Array.from([0, 255, 1]), contentType: 'application/octet-stream' }),
        kit.message('', { key: 'c', payload: null }),
        kit.message('', { key: 'd' }),
        kit.message('empty key', { key: '' }),
        kit.message('no key', { key: null, aggregateId: null }),
      ]
      await kit.accepted(publisher, batch)
      const stored = await kit.in('records', kit.broker.records())
      assert.deepEqual(
        stored.map((one) => facts(one.eventId, one.key, one.value)),
        batch.map((one) => facts(one.id, one.key, one.payload)),
      )
    },
  ),
  publisherCase(
    'gives each message its own verdict',
    'A message that is refused has its verdict at its own index, says why, and costs neighbours of other keys nothing.',
    ['refusal'],
    async (kit) => {
      const publisher = await kit.publisher()
      const batch = names(1, 5).map((name) => kit.message(name, { key: name }))
      const sent = batch.map((one, i) => (i === 2 ? (kit.broker.refusable?.(one) ?? one) : one))
      const verdicts = await kit.publish(publisher, sent)
      assert.deepEqual(kindsOf(verdicts), ['accepted', 'accepted', 'permanent', 'accepted', 'accepted'])
      const refused = verdicts[2]
      assert(refused?.kind === 'refused' && refused.code !== '' && refused.detail !== '', 'a refusal without a code or a detail')
      assert.deepEqual(new Set(await kit.ids()), new Set(sent.filter((_, i) => i !== 2).map((one) => one.id)))
    },
  ),
  publisherCase('keeps the order of a batch', 'Messages of one key are stored in the order of the batch.', ['batchOrder'], async (kit) => {
    const publisher = await kit.publisher()
    assert.equal(publisher.order, 'batch')
    const batch = kit.messages(...names(1, 100))
    await kit.accepted(publisher, batch)
    assert.deepEqual(
      await kit.ids(),
      batch.map((one) => one.id),
    )
  }),
  publisherCase(
    'accepts nothing behind a refused message of its key',
    'Within a batch no message is accepted, or stored, after an earlier one of its topic and key was refused.',
    ['batchOrder', 'refusal'],
    async (kit) => {
      const publisher = await kit.publisher()
      const [first, second, third] = kit.messages('m1', 'm2', 'm3')
      assert(first !== undefined && second !== undefined && third !== undefined)
      const batch = [first, kit.broker.refusable?.(second) ?? second, third, kit.message('other', { key: 'other' })]
      const kinds = kindsOf(await kit.publish(publisher, batch))
      assert.equal(kinds[0], 'accepted')
      assert.equal(kinds[1], 'permanent')
      assert(!['accepted', 'permanent'].includes(kinds[2] ?? ''), `behind a refused message of its key: ${kinds[2]}`)
      assert.equal(kinds[3], 'accepted')
      assert.deepEqual(new Set(await kit.ids()), new Set([first.id, batch[3]?.id]))
    },
  ),
  publisherCase(
    'publishes for several lanes at once',
    'Publishes of different lanes overlap, and each gets its own answer.',
    [],
    async (kit) => {
      const lanes = [0, 1, 2, 3]
      const publisher = await kit.publisher(lanes)
      const batches = lanes.map((lane) => names(1, 5).map((name) => kit.message(name, { lane, key: `${lane} ${name}` })))
      await Promise.all(batches.map((batch, lane) => kit.accepted(publisher, batch, lane)))
      const ids = await kit.ids()
      assert.equal(ids.length, 20)
      assert.deepEqual(new Set(ids), new Set(batches.flat().map((one) => one.id)))
    },
  ),
  publisherCase('takes the messages of a key into one group', 'group answers the same for the same topic and key.', [], async (kit) => {
    const publisher = await kit.publisher()
    if (publisher.group === undefined) return
    await kit.accepted(publisher, kit.messages('m1'))
    for (const key of ['a', 'b', '']) {
      const groups = names(1, 3).map((name) => publisher.group?.(kit.message(name, { key })))
      assert.equal(new Set(groups).size, 1, `key ${JSON.stringify(key)} is in the groups ${groups.join(', ')}`)
    }
  }),
  publisherCase(
    'ends by its own deadline',
    'Without an answer from the broker publish ends within publishTimeoutMs (and a second), and says of no message that it was accepted.',
    ['silence'],
    async (kit) => {
      const publisher = await kit.publisher()
      const { publishTimeoutMs } = publisher.limits
      assert(Number.isFinite(publishTimeoutMs) && publishTimeoutMs > 0, `publishTimeoutMs is ${publishTimeoutMs}`)
      await kit.accepted(publisher, kit.messages('m1'))
      await kit.broker.silence?.()
      const startedMs = performance.now()
      await kit.publishInVain(publisher, kit.messages('m2', 'm3'))
      const tookMs = Math.round(performance.now() - startedMs)
      assert(tookMs < publishTimeoutMs + 1_000, `publishTimeoutMs is ${publishTimeoutMs}, and it took ${tookMs} ms`)
    },
  ),
  publisherCase(
    'ends when the relay gives up',
    'When the signal aborts publish ends long before its deadline, and says of no message that it was accepted.',
    ['silence'],
    async (kit) => {
      const publisher = await kit.publisher()
      await kit.accepted(publisher, kit.messages('m1'))
      await kit.broker.silence?.()
      const stop = new AbortController()
      const startedMs = performance.now()
      const ended = kit.publishInVain(publisher, kit.messages('m2'), stop.signal)
      stop.abort()
      await ended
      const tookMs = Math.round(performance.now() - startedMs)
      assert(tookMs < publisher.limits.publishTimeoutMs / 2, `it took ${tookMs} ms to give up`)
    },
  ),
  publisherCase(
    'goes on after a silence',
    'After an unknown outcome, and the next fence where there is one, the same messages are accepted.',
    ['silence'],
    async (kit) => {
      const publisher = await kit.publisher()
      const batch = kit.messages('m1', 'm2', 'm3')
      await kit.accepted(publisher, batch.slice(0, 1))
      await kit.broker.silence?.()
      await kit.publishInVain(publisher, batch.slice(1))
      await kit.broker.speak?.()
      if (publisher.fence !== undefined) await kit.fence(publisher)
      await kit.accepted(publisher, batch.slice(1))
      const ids = await kit.ids()
      for (const one of batch) assert(ids.includes(one.id), 'a message that was accepted is not stored')
    },
  ),
  publisherCase(
    'has a fence, or none at all',
    'A fence is there exactly if the harness says so: half a fence would be trusted.',
    [],
    async (kit) => {
      const { fence } = await kit.publisher()
      assert.equal(fence !== undefined, kit.harness.can.includes('fence'))
    },
  ),
  publisherCase(
    'moves the fence on',
    'Each advance gives another fence; under the one that was entered messages are accepted.',
    ['fence'],
    async (kit) => {
      const publisher = await kit.publisher()
      const seen = new Set<string>()
      for (const name of names(1, 3)) {
        const next = [...(await kit.fence(publisher))].join(' ')
        assert(!seen.has(next), 'advance gave the fence that is stored already')
        seen.add(next)
        await kit.accepted(publisher, kit.messages(name))
      }
    },
  ),
  publisherCase(
    'changes nothing by advance alone',
    'Before enter the lane goes on under its fence: a fence that could not be stored costs nothing.',
    ['fence'],
    async (kit) => {
      const publisher = await kit.publisher()
      await kit.accepted(publisher, kit.messages('m1'))
      await kit.in('advance', kit.fenceOf(publisher).advance(0, kit.stored.get(0) ?? null))
      await kit.accepted(publisher, kit.messages('m2'))
      assert.equal((await kit.ids()).length, 2)
    },
  ),
  publisherCase(
    'refuses bytes that land late',
    'What was under way when the fence moved on is not stored any more once the lane has published again.',
    ['fence', 'lateBytes'],
    async (kit) => {
      const publisher = await kit.publisher()
      const batch = kit.messages(...names(1, 6))
      await kit.accepted(publisher, batch.slice(0, 2))
      await kit.broker.delay?.()
      await kit.publishInVain(publisher, batch.slice(2, 4))
      await kit.broker.pass?.()
      await kit.fence(publisher)
      await kit.accepted(publisher, batch.slice(2, 4))
      await kit.accepted(publisher, batch.slice(4, 6))
      await kit.in('land', kit.broker.land?.() ?? Promise.resolve())
      assert.deepEqual(
        await kit.ids(),
        batch.map((one) => one.id),
      )
    },
  ),
  publisherCase(
    'shuts out the holder before',
    'Once a successor has entered the next fence and published, nothing of the relay before it is accepted or stored.',
    ['fence', 'manyRelays'],
    async (kit) => {
      const before = await kit.publisher()
      await kit.accepted(before, kit.messages('m1'))
      const after = await kit.publisher()
      await kit.accepted(after, kit.messages('m2'))
      await kit.publishInVain(before, kit.messages('m3'))
      assert.equal((await kit.ids()).length, 2)
      await kit.accepted(after, kit.messages('m4'))
    },
  ),
  publisherCase('knows whether it can publish', 'check resolves while the broker answers.', [], async (kit) => {
    const publisher = await kit.publisher()
    await kit.in('check', publisher.check())
  }),
  publisherCase(
    'says so when it can not publish',
    'check rejects with an OutriderError while the broker is silent.',
    ['silence'],
    async (kit) => {
      const publisher = await kit.publisher()
      await kit.in('check', publisher.check())
      await kit.broker.silence?.()
      const error = await rejection(kit.harness, 'check without a broker', () => publisher.check())
      assert(isOutriderError(error), `check rejects with ${String(error)}`)
    },
  ),
  publisherCase('can be closed at any time', 'close may come before any use and twice; nothing is accepted after it.', [], async (kit) => {
    await kit.in('close before any use', kit.raw().close())
    const publisher = await kit.publisher()
    await kit.accepted(publisher, kit.messages('m1'))
    await kit.in('close', Promise.all([publisher.close(), publisher.close()]))
    await kit.publishInVain(publisher, kit.messages('m2'))
    await kit.in('close once more', publisher.close())
    assert.equal((await kit.ids()).length, 1)
  }),
  publisherCase(
    'ends what is under way when it is closed',
    'A publish that waits for its answer ends when the publisher is closed.',
    ['silence'],
    async (kit) => {
      const publisher = await kit.publisher()
      await kit.accepted(publisher, kit.messages('m1'))
      await kit.broker.silence?.()
      const ended = kit.publishInVain(publisher, kit.messages('m2'))
      await kit.in('close', publisher.close())
      await ended
    },
  ),
]
