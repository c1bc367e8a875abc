// The relay alone: a source and a publisher that cost nothing, so that what is left is its own work a message.
import type { Grant, Message, Publisher, Source, Verdict } from '../src/core/index.ts'
import { createRelay } from '../src/relay/index.ts'
import type { Bench } from './runner/bench.ts'

const messages = 2_000_000
const lanes = 8
const groups = 4
const windowSize = 4000

export const bench: Bench = {
  summary: 'the relay alone, between a source and a publisher that cost next to nothing, against a bare loop over the same two',
  run: async (context) => {
    // The first round of each is for the compiler.
    await bare()
    const bareCpu = await measured(bare)
    context.progress(`bare loop: ${bareCpu.usPerMessage.toFixed(2)} us a message`)
    await withRelay()
    const relayCpu = await measured(withRelay)
    context.progress(`relay: ${relayCpu.usPerMessage.toFixed(2)} us a message`)
    return {
      figures: {
        relay_cpu_us_per_message: relayCpu.usPerMessage,
        bare_cpu_us_per_message: bareCpu.usPerMessage,
        own_cpu_us_per_message: relayCpu.usPerMessage - bareCpu.usPerMessage,
        messages_per_s: relayCpu.perSecond,
      },
      ratios: { vs_bare_loop: bareCpu.usPerMessage / relayCpu.usPerMessage },
      setting: { messages, lanes, groups },
    }
  },
}

async function measured(work: () => Promise<void>): Promise<{ usPerMessage: number; perSecond: number }> {
  const startMs = performance.now()
  const cpu = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(cpu)
  return { usPerMessage: (user + system) / messages, perSecond: Math.round(messages / ((performance.now() - startMs) / 1000)) }
}

async function withRelay(): Promise<void> {
  const source = new Endless(messages)
  const relay = createRelay({ source, publisher: instant() })
  await relay.start()
  await source.settled
  await relay.stop()
}

/** One batch after the other, without any care. */
async function bare(): Promise<void> {
  const source = new Endless(messages)
  const publisher = instant()
  const room = new Map(Array.from({ length: lanes }, (_, lane) => [lane, 500]))
  const { signal } = new AbortController()
  for (let left = messages; left > 0;) {
    const read = await source.read({ room, signal })
    const streams = new Map<string, Message[]>()
    for (const message of read) {
      const name = `${message.lane} ${publisher.group?.(message)}`
      const stream = streams.get(name)
      if (stream === undefined) streams.set(name, [message])
      else stream.push(message)
    }
    await Promise.all([...streams.values()].map((batch) => publisher.publish(batch, { lane: batch[0]?.lane ?? 0, signal })))
    await source.settle(read)
    left -= read.length
  }
}

function messageOf(i: number): Message {
  return {
    id: `id-${i}`,
    seq: BigInt(i),
    lane: i % lanes,
    topic: 'orders',
    key: `key-${i % 997}`,
    type: 'OrderPlaced',
    aggregateType: 'order',
    aggregateId: null,
    payload: new Uint8Array(500),
    contentType: 'application/json',
    headers: null,
    createdAt: '2026-01-01T00:00:00.000000Z',
    attempt: 0,
  }
}

/** Hands out the same window again and again, as much as there is room for, with rising numbers. */
class Endless implements Source {
  readonly name = 'endless'
  readonly settled: Promise<void>
  readonly #byLane: Message[][]
  readonly #done = Promise.withResolvers<void>()
  #left: number
  #unsettled: number
  #seq = 0n

  constructor(count: number) {
    const window = Array.from({ length: windowSize }, (_, i) => messageOf(i))
    this.#byLane = Array.from({ length: lanes }, (_, lane) => window.filter((m) => m.lane === lane))
    this.#left = count
    this.#unsettled = count
    this.settled = this.#done.promise
  }

  async open(): Promise<{ lanes: number }> {
    return { lanes }
  }

  async read({ room, signal }: { room: ReadonlyMap<number, number>; signal: AbortSignal }): Promise<Message[]> {
    await new Promise<void>((resolve) => setImmediate(resolve))
    const found: Message[] = []
    for (const [lane, wanted] of room) {
      for (const m of this.#byLane[lane]?.slice(0, Math.min(wanted, this.#left)) ?? []) found.push({ ...m, seq: this.#seq++ })
      this.#left -= Math.min(wanted, this.#left, this.#byLane[lane]?.length ?? 0)
    }
    if (found.length === 0 && !signal.aborted) await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    return found
  }

  async settle(settlements: readonly unknown[]): Promise<{ lost: readonly number[] }> {
    await new Promise<void>((resolve) => setImmediate(resolve))
    this.#unsettled -= settlements.length
    if (this.#unsettled === 0) this.#done.resolve()
    return { lost: [] }
  }

  readonly ownership = {
    acquire: async (): Promise<readonly Grant[]> => Array.from({ length: lanes }, (_, lane) => ({ lane, token: 1n, fence: null })),
    renew: async (): Promise<{ lost: readonly number[] }> => ({ lost: [] }),
    release: async (): Promise<void> => {},
  }

  async storeFence(): Promise<boolean> {
    return true
  }

  async lag(): Promise<{ backlog: number; oldestMs: number }> {
    return { backlog: this.#unsettled, oldestMs: 0 }
  }

  kick(): void {}

  async close(): Promise<void> {}
}

function instant(): Publisher {
  const accepted: Verdict = { kind: 'accepted', position: null }
  const names = Array.from({ length: groups }, (_, i) => `orders/${i}`)
  return {
    name: 'instant',
    order: 'batch',
    limits: { publishTimeoutMs: 5000 },
    group: (m) => names[(m.key?.length ?? 0) % groups] ?? '',
    publish: async (batch) => {
      await new Promise<void>((resolve) => setImmediate(resolve))
      return batch.map(() => accepted)
    },
    check: async () => {},
    close: async () => {},
  }
}
