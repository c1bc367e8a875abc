// Rules that random runs seldom touch: each held by the relay in a scripted case, and seen to fail in a copy that breaks it.
import { describe, expect, test } from 'vitest'
import { createRelay } from '../../../src/relay/index.ts'
import { createTestClock } from '../../../src/testing/index.ts'
import { calm, message, no, ok, until } from './fakes.ts'
import { mutant } from './mutants.ts'
import { running } from './relays.ts'

type Make = typeof createRelay

interface Control {
  readonly rule: string
  readonly file: string
  readonly from: string
  readonly to: string
  /** Does the rule hold? */
  readonly holds: (make: Make) => Promise<boolean>
}

const controls: readonly Control[] = [
  {
    rule: 'a fence is stored before it is entered',
    file: 'fencing.ts',
    from: 'if (!(await this.#store(lane, next))) return false\n        fence.enter(lane.number, next)',
    to: 'fence.enter(lane.number, next)\n        if (!(await this.#store(lane, next))) return false',
    async holds(make) {
      const { source, named } = await running({ make, publish: { fence: true } })
      await until('the fence', () => named('lane.fenced').length === 1)
      return source.log.indexOf('storeFence 0:1') < source.log.indexOf('enter 0:1')
    },
  },
  {
    rule: 'after an unknown outcome nothing is published before the fence has moved on',
    file: 'dispatcher.ts',
    from: 'if (sorted.isUnknown && this.#publisher.fence !== undefined) this.#parts.unknown(lane)',
    to: '',
    async holds(make) {
      const { source, publisher, clock } = await running({ make, publish: { fence: true } })
      source.commit(message(1))
      ;(await publisher.next()).fail(new Error('reset'))
      await calm()
      await clock.advance(100)
      await until('it is sent again', () => publisher.published === 2)
      return source.log.filter((step) => step.startsWith('enter')).length === 2
    },
  },
  {
    rule: 'nothing is published that the lease would not outlive',
    file: 'dispatcher.ts',
    from: 'if (leftMs < publishTimeoutMs) {',
    to: 'if (leftMs < -1e9) {',
    async holds(make) {
      const { source, publisher, clock, named } = await running({ make, leaseMs: 12_000 })
      await until('the lane', () => named('lane.acquired').length === 1)
      source.holding.add('renew')
      await clock.advance(7500)
      source.commit(message(1))
      await calm()
      return publisher.published === 0
    },
  },
  {
    rule: 'the end of a lease is counted from before it was asked for',
    file: 'lane-keeper.ts',
    from: 'else lane.leaseEndsMs = askedMs + settings.leaseMs',
    to: 'else lane.leaseEndsMs = this.#clock.monotonicMs() + settings.leaseMs',
    async holds(make) {
      const { source, publisher, clock, named } = await running({ make, leaseMs: 12_000 })
      await until('the lane', () => named('lane.acquired').length === 1)
      source.holding.add('renew')
      await clock.advance(4000)
      await clock.advance(7500)
      source.proceed()
      source.holding.add('renew')
      await calm()
      source.commit(message(1))
      await calm()
      return publisher.published === 0
    },
  },
  {
    rule: 'a lane is kept when a process wakes up late and the answer to its renewal is there',
    file: 'lane-keeper.ts',
    from: 'if (!isAnswered) await new Promise<void>((resolve) => setImmediate(resolve))',
    to: '',
    async holds(make) {
      const time = createTestClock()
      let isLate = false
      const clock = {
        ...time,
        // Timers that are due ring before the answer is read.
        sleep: (ms: number, signal?: AbortSignal) =>
          time.sleep(ms, signal).then(() => {
            if (isLate) setImmediate(() => source.proceed())
          }),
      }
      const { source, named } = await running({ make, clock })
      await until('the lane', () => named('lane.acquired').length === 1)
      source.holding.add('renew')
      await time.advance(10_000)
      isLate = true
      await time.advance(20_000)
      return named('lane.lost').length === 0
    },
  },
  {
    rule: 'a new group waits for what came before it',
    file: 'group.ts',
    from: 'if (lowest !== null && lowest <= last.upToSeq) return true',
    to: '',
    async holds(make) {
      let partitions = 0
      const group = (m: { key: string | null }) => (partitions === 0 ? 'all' : `${m.key}`)
      const { source, publisher } = await running({ make, publish: { group } })
      source.commit(message(1))
      await publisher.next()
      partitions = 1
      source.commit(message(2))
      await calm()
      return publisher.published === 1
    },
  },
  {
    rule: 'a read of before a loss brings nothing for the lane of after it',
    file: 'dispatcher.ts',
    from: 'const lane = asked.get(message.lane)',
    to: 'const lane = this.#parts.lanes.get(message.lane)',
    async holds(make) {
      const held = Promise.withResolvers<void>()
      let reads = 0
      const pauses = (point: string): Promise<void> | void => {
        if (point === 'read' && ++reads === 1) return held.promise
      }
      const { source, publisher, clock } = await running({ make, lanes: 2, pauses })
      source.commit(message(2))
      await until('the first read', () => reads === 1)
      source.takeOver(0)
      await clock.advance(10_000)
      source.taken.clear()
      await clock.advance(1000)
      source.commit(message(1))
      held.resolve()
      return (await publisher.next()).seqs[0] === 1
    },
  },
  {
    rule: 'a publisher that is down is probed by one group at a time',
    file: 'breaker.ts',
    from: 'return !this.#suspects.has(group) || (this.#probing === null && this.#rest === null)',
    to: 'return this.#rest === null',
    async holds(make) {
      const { source, publisher, clock } = await running({ make, lanes: 4 })
      source.commit(...[0, 1, 2, 3].map((lane) => message(lane + 1, { lane })))
      await until('four publishes', () => publisher.open.length === 4)
      publisher.answerAll(no('unavailable'))
      await calm()
      await clock.advance(2000)
      return publisher.open.length === 1
    },
  },
  {
    rule: 'a read that waits is ended for a lane that gains room',
    file: 'reader.ts',
    from: 'if (this.#asked !== null && this.#asked.get(lane.number) !== lane) this.#reading?.abort(askAgain)',
    to: '',
    async holds(make) {
      const { source, publisher } = await running({ make, lanes: 2, batchSize: 10, maxInFlight: 10, publish: { group: null } })
      source.commit(...Array.from({ length: 20 }, (_, i) => message(i + 1)))
      const publish = await publisher.next()
      await until('a read for the other lane', () => source.log.includes('read 1'))
      publish.answer(ok)
      await calm()
      return publisher.published === 2
    },
  },
  {
    rule: 'an idle relay does not ask again and again',
    file: 'reader.ts',
    from: 'if (wantsMore) await this.#read()',
    to: 'if (wantsMore) {\n          setImmediate(() => this.#reading?.abort())\n          await this.#read()\n        }',
    async holds(make) {
      const { source } = await running({ make })
      await calm()
      const reads = source.reads
      await calm()
      return source.reads === reads
    },
  },
  {
    rule: 'a settlement that says that a lane is lost ends what is held of it',
    file: 'settler.ts',
    from: "if (lostLanes.has(lane.number)) lanes.drop(lane, 'token')",
    to: 'if (lostLanes.has(lane.number)) lane.held -= messages.length',
    async holds(make) {
      const { source, publisher } = await running({ make, batchSize: 4 })
      source.commit(message(1, { topic: 'a' }), message(2, { topic: 'b' }))
      await until('two publishes', () => publisher.open.length === 2)
      source.takeOver(0)
      publisher.open[0]?.answer(ok)
      await calm()
      return publisher.open[0]?.signal.aborted === true
    },
  },
]

describe.each(controls)('$rule', ({ file, from, to, holds }) => {
  test('it holds', async () => {
    expect(await holds(createRelay)).toBe(true)
  })

  test('broken, it is seen', async () => {
    expect(await holds(await mutant({ file, from, to }))).toBe(false)
  })
})
