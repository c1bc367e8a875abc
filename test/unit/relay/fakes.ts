// A source and a publisher whose every step a test decides. Both check the law of their contract and keep what broke it.
import { setImmediate as turn } from 'node:timers/promises'
import type {
  Fence,
  Grant,
  Message,
  Publisher,
  ReadRequest,
  RefusalClass,
  Settlement,
  Source,
  SourceContext,
  Verdict,
} from '../../../src/core/index.ts'
import { OutriderError } from '../../../src/core/index.ts'

export function message(seq: number, facts: Partial<Message> = {}): Message {
  return {
    id: `id-${seq}`,
    seq: BigInt(seq),
    lane: 0,
    topic: 'orders',
    key: 'a',
    type: 'OrderPlaced',
    aggregateType: 'order',
    aggregateId: 'a',
    payload: new Uint8Array(10),
    contentType: 'application/json',
    headers: null,
    createdAt: '2026-01-01T00:00:00.000000Z',
    attempt: 0,
    ...facts,
  }
}

export const ok: Verdict = { kind: 'accepted', position: null }
export function no(kind: RefusalClass, retryAfterMs?: number): Verdict {
  const refused = { kind: 'refused', class: kind, code: kind.toUpperCase(), detail: 'The test says so.' } as const
  return retryAfterMs === undefined ? refused : { ...refused, retryAfterMs }
}

export function sourceLost(): OutriderError {
  return new OutriderError('SOURCE_LOST', 'The connection is gone.', { retryable: true })
}

/** Waits for a condition that needs no time to come true. */
export async function until(what: string, isTrue: () => boolean): Promise<void> {
  for (let turns = 0; turns < 2000; turns++) {
    if (isTrue()) return
    await turn()
  }
  throw new Error(`It did not come to this: ${what}`)
}

/** Lets all run that needs no time. */
export async function calm(): Promise<void> {
  for (let turns = 0; turns < 8; turns++) await turn()
}

type Call = 'open' | 'read' | 'settle' | 'acquire' | 'renew' | 'release' | 'storeFence' | 'lag' | 'close'

export class FakeSource implements Source {
  readonly name = 'fake'
  /** Every call, in order, with what it was about. */
  readonly log: string[]
  readonly breaches: string[] = []
  readonly settled = new Set<bigint>()
  /** Lanes that somebody else holds. */
  readonly taken = new Set<number>()
  readonly fences = new Map<number, Uint8Array>()
  /** The next call of this name rejects with it. */
  readonly failing = new Map<Call, Error>()
  /** The next calls of this name wait for `proceed`. */
  readonly holding = new Set<Call>()
  /** Told of a settlement before it is recorded. */
  onSettle: (settlements: readonly Settlement[]) => void = () => {}
  reads = 0
  opens = 0
  isClosed = false
  context: SourceContext | null = null
  readonly #lanes: number
  readonly #messages: Message[] = []
  /** Lanes held, each with what was handed out of it under this token. */
  readonly #held = new Map<number, Set<bigint>>()
  readonly #running = new Set<Call>()
  #token = 0n
  #wake: () => void = () => {}
  #waiting: (() => void)[] = []

  constructor(lanes = 1, log: string[] = []) {
    this.#lanes = lanes
    this.log = log
  }

  commit(...messages: Message[]): void {
    this.#messages.push(...messages)
    this.#wake()
  }

  /** Another relay takes the lane; this one finds out at its next call. */
  takeOver(lane: number): void {
    this.taken.add(lane)
  }

  /** Lets calls that wait go on, and holds none any more. */
  proceed(): void {
    this.holding.clear()
    for (const resolve of this.#waiting.splice(0)) resolve()
  }

  open(context: SourceContext): Promise<{ lanes: number }> {
    return this.#call('open', '', async () => {
      this.opens++
      this.context = context
      this.#held.clear()
      return { lanes: this.#lanes }
    })
  }

  read({ room, signal }: ReadRequest): Promise<Message[]> {
    this.reads++
    return this.#call('read', [...room.keys()].join(','), async () => {
      for (;;) {
        if (signal.aborted || this.isClosed) return []
        const found: Message[] = []
        for (const [lane, out] of this.#held) {
          let left = room.get(lane) ?? 0
          for (const m of this.#messages) {
            if (left <= 0) break
            if (m.lane !== lane || this.settled.has(m.seq) || out.has(m.seq)) continue
            out.add(m.seq)
            found.push(m)
            left--
          }
        }
        if (found.length > 0) return found.toSorted((a, b) => Number(a.seq - b.seq))
        await new Promise<void>((resolve) => {
          this.#wake = resolve
          signal.addEventListener('abort', () => resolve())
        })
        if (this.failing.has('read')) throw this.#failure('read')
      }
    })
  }

  settle(settlements: readonly Settlement[]): Promise<{ lost: readonly number[] }> {
    return this.#call('settle', String(settlements.length), async () => {
      this.onSettle(settlements)
      const lost = new Set<number>()
      for (const { message: m } of settlements) {
        const out = this.#held.get(m.lane)
        if (this.taken.has(m.lane) || out === undefined) {
          lost.add(m.lane)
          this.#held.delete(m.lane)
        } else {
          if (!out.has(m.seq)) this.breaches.push(`settled ${m.seq} that was not handed out`)
          this.settled.add(m.seq)
        }
      }
      return { lost: [...lost] }
    })
  }

  readonly ownership = {
    acquire: ({ max }: { leaseMs: number; max: number }): Promise<readonly Grant[]> =>
      this.#call('acquire', String(max), async () => {
        const grants: Grant[] = []
        for (let lane = 0; lane < this.#lanes && grants.length < max; lane++) {
          if (this.taken.has(lane) || this.#held.has(lane)) continue
          this.#held.set(lane, new Set())
          grants.push({ lane, token: ++this.#token, fence: this.fences.get(lane) ?? null })
        }
        return grants
      }),
    renew: (): Promise<{ lost: readonly number[] }> =>
      this.#call('renew', '', async () => {
        const lost = [...this.#held.keys()].filter((lane) => this.taken.has(lane))
        for (const lane of lost) this.#held.delete(lane)
        return { lost }
      }),
    release: (lanes: readonly number[]): Promise<void> =>
      this.#call('release', lanes.join(','), async () => {
        for (const lane of lanes) this.#held.delete(lane)
      }),
  }

  storeFence(lane: number, fence: Uint8Array): Promise<boolean> {
    return this.#call('storeFence', `${lane}:${fence[0]}`, async () => {
      if (this.taken.has(lane) || !this.#held.has(lane)) return false
      this.fences.set(lane, fence)
      return true
    })
  }

  lag(): Promise<{ backlog: number; oldestMs: number }> {
    return this.#call('lag', '', async () => ({ backlog: this.#messages.filter((m) => !this.settled.has(m.seq)).length, oldestMs: 0 }))
  }

  kick(): void {
    this.#wake()
  }

  async close(): Promise<void> {
    this.isClosed = true
    this.log.push('close source')
    this.#wake()
  }

  /** Calls that wait are rejected with it, and those that come next until `open`. */
  lose(error: Error = sourceLost()): void {
    this.failing.set('read', error)
    this.#wake()
  }

  async #call<T>(name: Call, about: string, work: () => Promise<T>): Promise<T> {
    if ((name === 'read' || name === 'settle') && this.#running.has(name)) this.breaches.push(`two calls of ${name} at once`)
    this.#running.add(name)
    this.log.push(about === '' ? name : `${name} ${about}`)
    try {
      if (this.holding.has(name)) await new Promise<void>((resolve) => this.#waiting.push(resolve))
      else await Promise.resolve()
      if (this.failing.has(name)) throw this.#failure(name)
      return await work()
    } finally {
      this.#running.delete(name)
    }
  }

  #failure(name: Call): Error {
    const error = this.failing.get(name) ?? new Error(name)
    this.failing.delete(name)
    return error
  }
}

/** A publish that waits for its answer. */
export interface Publish {
  readonly lane: number
  readonly group: string
  readonly batch: readonly Message[]
  readonly seqs: readonly number[]
  readonly signal: AbortSignal
  /** One verdict for all, or one each; what the last one says holds for the rest. */
  answer(...verdicts: readonly Verdict[]): void
  answerRaw(verdicts: unknown): void
  fail(error: Error): void
}

export interface FakePublisherOptions {
  readonly order?: 'batch' | 'single'
  readonly group?: ((message: Message) => string) | null
  readonly fence?: boolean
  readonly publishTimeoutMs?: number
  readonly log?: string[]
}

export class FakePublisher implements Publisher {
  readonly name = 'fake'
  readonly order: 'batch' | 'single'
  readonly limits: { readonly publishTimeoutMs: number }
  readonly group?: (message: Message) => string
  readonly fence?: Fence
  readonly breaches: string[] = []
  /** Publishes without an answer. */
  readonly open: Publish[] = []
  /** How many there were. */
  published = 0
  /** Seqs that were accepted, in order, repeats too. */
  readonly accepted: bigint[] = []
  isClosed = false
  /** The next `advance` rejects with it. */
  failAdvance: Error | null = null
  /** Answers at once, when set. */
  auto: ((batch: readonly Message[]) => readonly Verdict[]) | null = null
  readonly log: string[]

  constructor(options: FakePublisherOptions = {}) {
    this.order = options.order ?? 'batch'
    this.limits = { publishTimeoutMs: options.publishTimeoutMs ?? 5000 }
    this.log = options.log ?? []
    if (options.group !== null) this.group = options.group ?? ((m) => m.topic)
    if (options.fence === true) {
      this.fence = {
        advance: async (lane, stored) => {
          this.log.push(`advance ${lane}:${stored?.[0] ?? '-'}`)
          const error = this.failAdvance
          this.failAdvance = null
          if (error !== null) throw error
          return Uint8Array.of((stored?.[0] ?? 0) + 1)
        },
        enter: (lane, fence) => void this.log.push(`enter ${lane}:${fence[0]}`),
      }
    }
  }

  publish(batch: readonly Message[], { lane, signal }: { lane: number; signal: AbortSignal }): Promise<Verdict[]> {
    const first = batch[0]
    const group = first === undefined || this.group === undefined ? '' : this.group(first)
    this.published++
    this.log.push(`publish ${lane}:${batch.map((m) => m.seq).join(',')}`)
    if (this.open.some((other) => other.lane === lane && other.group === group))
      this.breaches.push(`two publishes of lane ${lane}, ${group}`)
    for (let i = 1; i < batch.length; i++) if ((batch[i - 1]?.seq ?? 0n) > (batch[i]?.seq ?? 0n)) this.breaches.push('a batch out of order')
    if (this.order === 'single' && new Set(batch.map((m) => `${m.topic} ${m.key ?? m.id}`)).size < batch.length) {
      this.breaches.push('two messages of a key in one batch')
    }
    if (this.auto !== null) return Promise.resolve(this.#note(batch, [...this.auto(batch)]))
    return new Promise((resolve, reject) => {
      const over = (): void => void this.open.splice(this.open.indexOf(publish), 1)
      const publish: Publish = {
        lane,
        group,
        batch,
        seqs: batch.map((m) => Number(m.seq)),
        signal,
        answer: (...verdicts) => {
          over()
          resolve(
            this.#note(
              batch,
              batch.map((_, i) => verdicts[i] ?? verdicts.at(-1) ?? ok),
            ),
          )
        },
        answerRaw: (verdicts) => {
          over()
          resolve(verdicts as Verdict[])
        },
        fail: (error) => {
          over()
          reject(error)
        },
      }
      this.open.push(publish)
    })
  }

  /** The first open publish, once there is one. */
  async next(): Promise<Publish> {
    await until('a publish', () => this.open.length > 0)
    const [publish] = this.open
    if (publish === undefined) throw new Error('none')
    return publish
  }

  /** All that are open now. */
  answerAll(verdict: Verdict): void {
    for (const publish of this.open.slice()) publish.answer(verdict)
  }

  /** What `check` waits for. */
  checking: Promise<void> = Promise.resolve()

  check(): Promise<void> {
    this.log.push('check')
    return this.checking
  }

  async close(): Promise<void> {
    this.isClosed = true
    this.log.push('close publisher')
  }

  #note(batch: readonly Message[], verdicts: Verdict[]): Verdict[] {
    for (let i = 0; i < batch.length; i++) if (verdicts[i]?.kind === 'accepted') this.accepted.push(batch[i]?.seq ?? -1n)
    return verdicts
  }
}
