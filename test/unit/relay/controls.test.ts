// Each rule of the relay, broken in a copy of it: the simulation must find out, every time.
import { expect, test } from 'vitest'
import { createRelay } from '../../../src/relay/index.ts'
import { mutant } from './mutants.ts'
import { simulate } from './simulation.ts'
import type { Scenario } from './simulation.ts'

const scenarios: readonly Scenario[] = Array.from({ length: 40 }, (_, i) => ({
  seed: i,
  messages: 60,
  keys: 1 + (i % 4),
  steps: 150,
  order: i % 4 === 3 ? 'single' : 'batch',
  fence: i % 2 === 0,
  batchSize: 3 + (i % 12),
}))

async function firstProblem(make: typeof createRelay): Promise<string | null> {
  for (const scenario of scenarios) {
    const [problem] = await simulate(make, scenario)
    if (problem !== undefined) return problem
  }
  return null
}

test('the relay itself stands all of it', async () => {
  expect(await firstProblem(createRelay)).toBe(null)
})

test.each([
  [
    'what waits in the queue overtakes a refused message of its key',
    'dispatcher.ts',
    'if (fresh.size > 0) group.takeBlocks(fresh).forEach(wait)',
    '',
    /landed first after/,
  ],
  [
    'what arrives later overtakes a refused message of its key',
    'dispatcher.ts',
    'if (blocked !== undefined) {',
    'if (blocked !== undefined && offer < 0) {',
    /landed first after/,
  ],
  ['what is behind a refused message in its batch is forgotten', 'dispatcher.ts', 'behind.forEach(wait)', '', /never|landed first after/],
  ['what is sent again goes to nobody', 'dispatcher.ts', 'group.putBack(sorted.again)', '', /never|landed first after/],
  [
    'what is sent again goes to the end',
    'group.ts',
    'if (last.seq < next.seq) this.#messages = back.concat(rest)',
    'if (last.seq < next.seq) this.#messages = rest.concat(back)',
    /out of order|landed first after/,
  ],
  [
    'a group is published again while it is at the broker',
    'dispatcher.ts',
    'lane.waiting.delete(group)',
    '',
    /two publishes|landed first after/,
  ],
  [
    'what is not accepted is settled',
    'dispatcher.ts',
    'this.#accept(lane, sorted.accepted)',
    'this.#accept(lane, [...sorted.accepted, ...sorted.again])',
    /settled and never accepted/,
  ],
  [
    'an answer that is none counts as accepted',
    'dispatcher.ts',
    'error = thrown\n',
    'verdicts = flight.batch.map(() => ({ kind: "accepted", position: null }))\n',
    /settled and never accepted/,
  ],
  [
    'those behind an accepted head are forgotten',
    'dispatcher.ts',
    'blocked.group.putBack(blocked.waiting)',
    '',
    /never|landed first after/,
  ],
  ['a head that is refused again is forgotten', 'dispatcher.ts', 'blocked.group.putBack([blocked.head])', '', /never/],
  [
    'a batch holds a key twice with order single',
    'group.ts',
    'if (blocks.has(block)) rest.push(message)',
    'if (blocks.has(block) && max < 0) rest.push(message)',
    /two messages of a key/,
  ],
  ['a lost lane keeps what it had', 'lanes.ts', "this.state = 'gone'", '', /settled|landed first after|two publishes|never/],
  [
    'a lane is published again before its old batches have ended',
    'fencing.ts',
    'await this.#parts.flights.ended(lane.number)',
    '',
    /two publishes/,
  ],
  [
    'a lost source is opened while batches of before are at the broker',
    'session.ts',
    'await Promise.race([this.#dispatcher.flights.ended(), graceOver])',
    '',
    /two publishes/,
  ],
  ['two settlements run at once', 'settler.ts', 'this.#isRunning = true', '', /two calls of settle/],
])('%s: found out', async (_, file, from, to, problem) => {
  expect(await firstProblem(await mutant({ file, from, to }))).toMatch(problem)
})
