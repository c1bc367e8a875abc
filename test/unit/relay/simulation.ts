// A relay under random refusals, losses and orders of completion, and what must hold whatever happens.
import type { Message, Verdict } from '../../../src/core/index.ts'
import type { createRelay } from '../../../src/relay/index.ts'
import { createTestClock } from '../../../src/testing/index.ts'
import { calm, FakePublisher, FakeSource, message, no, ok } from './fakes.ts'
import type { Publish } from './fakes.ts'

export interface Scenario {
  readonly seed: number
  readonly messages: number
  readonly keys: number
  readonly steps: number
  readonly order: 'batch' | 'single'
  readonly fence: boolean
  readonly batchSize: number
}

/** Small, fast, and the same on every machine (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

const lanes = 3

/** What went against the promises; nothing when all is well. */
export async function simulate(make: typeof createRelay, scenario: Scenario): Promise<string[]> {
  const random = randomOf(scenario.seed)
  const under = (limit: number): number => Math.floor(random() * limit)
  const source = new FakeSource(lanes)
  const publisher = new FakePublisher({ order: scenario.order, fence: scenario.fence, publishTimeoutMs: 1000 })
  const clock = createTestClock()
  const problems: string[] = []
  /** Seqs in the order in which they landed, repeats too. */
  const landed: bigint[] = []
  const confirmed = new Set<bigint>()
  /** Sent, and neither there nor known to be lost. */
  const limbo: Message[][] = []
  source.onSettle = (settlements) => {
    for (const { message: m } of settlements) if (!confirmed.has(m.seq)) problems.push(`${m.seq} was settled and never accepted`)
  }

  const all = Array.from({ length: scenario.messages }, (_, i) => {
    const key = under(scenario.keys + 1)
    return message(i + 1, { lane: key % lanes, key: key === scenario.keys ? null : `k${key}`, topic: `t${under(2)}` })
  })

  /** Ends a publish in a way that keeps the publisher's contract. */
  const complete = (publish: Publish): void => {
    const isTrouble = random() < 0.6
    const isLost = isTrouble && random() < 0.15
    const stopped = new Map<string, 'refused' | 'limbo'>()
    const onTheWay: Message[] = []
    const verdicts = publish.batch.map((m): Verdict => {
      const block = `${m.topic} ${m.key ?? m.id}`
      const state = stopped.get(block)
      if (state === 'refused') return no('unavailable')
      const dice = isTrouble ? random() : 0
      if (state === undefined && dice < 0.7) {
        landed.push(m.seq)
        if (isLost) return no('unknown')
        confirmed.add(m.seq)
        return ok
      }
      if (state === 'limbo' || isLost || dice < 0.75) {
        stopped.set(block, 'limbo')
        onTheWay.push(m)
        return no('unknown')
      }
      stopped.set(block, 'refused')
      if (dice < 0.85) return no('transient')
      if (dice < 0.9) return no('throttled', under(300))
      return no(dice < 0.95 ? 'unavailable' : 'permanent')
    })
    if (onTheWay.length > 0 && !scenario.fence) limbo.push(onTheWay)
    if (isLost) publish.fail(new Error('the connection is lost'))
    else publish.answer(...verdicts)
  }

  const relay = make({
    source,
    publisher,
    clock,
    random,
    leaseMs: 3000,
    batchSize: scenario.batchSize,
    maxInFlight: scenario.batchSize * 2,
    policy: { maxAttempts: 4, firstDelayMs: 50, maxDelayMs: 1000 },
  })
  await relay.start()
  let committed = 0
  for (let step = 0; step < scenario.steps; step++) {
    const dice = random()
    const publish = publisher.open[under(publisher.open.length)]
    if (dice < 0.3) {
      const next = committed + 1 + under(8)
      source.commit(...all.slice(committed, next))
      committed = Math.min(next, all.length)
    } else if (dice < 0.75) {
      if (publish !== undefined) complete(publish)
    } else if (dice < 0.92) {
      await clock.advance(under(500))
      for (const late of publisher.open.filter((p) => p.signal.aborted)) complete(late)
    } else if (dice < 0.94) source.takeOver(under(lanes))
    else if (dice < 0.97) source.taken.clear()
    else if (dice < 0.98) source.lose()
    else for (const m of limbo.splice(under(limbo.length + 1), 1)[0] ?? []) landed.push(m.seq)
    await calm()
  }

  source.taken.clear()
  source.commit(...all.slice(committed))
  publisher.auto = (batch) =>
    batch.map((m) => {
      landed.push(m.seq)
      confirmed.add(m.seq)
      return ok
    })
  while (publisher.open.length > 0) {
    for (const publish of publisher.open.slice()) complete(publish)
    await calm()
  }
  for (let seconds = 0; seconds < 60 && source.settled.size < all.length; seconds++) await clock.advance(1000)
  const stopping = relay.stop({ graceMs: 0 })
  await clock.advance(2000)
  await stopping

  const left = all.filter((m) => !source.settled.has(m.seq))
  if (left.length > 0) problems.push(`never settled: ${left.map((m) => m.seq).join(', ')}`)
  problems.push(...source.breaches, ...publisher.breaches, ...disorder(all, landed))
  return [...new Set(problems)]
}

/** First occurrences of a topic and key must be in order of `seq`. */
function disorder(all: readonly Message[], landed: readonly bigint[]): string[] {
  const bySeq = new Map(all.map((m) => [m.seq, m]))
  const seen = new Set<bigint>()
  const newest = new Map<string, bigint>()
  const problems: string[] = []
  for (const seq of landed) {
    const m = bySeq.get(seq)
    if (m === undefined || seen.has(seq)) continue
    seen.add(seq)
    if (m.key === null) continue
    const block = `${m.topic} ${m.key}`
    const last = newest.get(block) ?? 0n
    if (seq < last) problems.push(`${seq} of ${block} landed first after ${last}`)
    else newest.set(block, seq)
  }
  const lost = all.filter((m) => !seen.has(m.seq))
  if (lost.length > 0) problems.push(`never delivered: ${lost.map((m) => m.seq).join(', ')}`)
  return problems
}
