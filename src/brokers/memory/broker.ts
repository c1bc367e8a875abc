import { blockOf, OutriderError } from '../../core/index.ts'
import type { Fence, Message, PublishContext, Publisher, RefusalClass, Refused, Verdict } from '../../core/index.ts'
import type { MemoryRecord, Outcome } from './outcome.ts'

export interface MemoryBrokerOptions {
  /** Partitions of each topic. @default 4 */
  readonly partitions?: number
  /** Whether a batch keeps the order of a key by itself. @default 'batch' */
  readonly order?: 'batch' | 'single'
  /** Whether bytes of an earlier holder of a lane are refused. @default true */
  readonly fence?: boolean
  /** Longest time that one publish takes, in milliseconds. @default 5000 */
  readonly publishTimeoutMs?: number
}

/** Decides what happens to a message; `tries` counts how often it was offered before. Nothing means `ok`. */
export type Script = (message: Message, tries: number) => Outcome | undefined

/** A publish that `hold` stopped before anything was stored. */
export interface HeldPublish {
  readonly lane: number
  readonly messages: readonly Message[]
}

/** A broker in memory for tests: a publisher whose outcomes are scripted and whose records can be read. */
export interface MemoryBroker extends Publisher {
  /** All records, or those of a topic, in order of arrival. */
  records(topic?: string): readonly MemoryRecord[]
  /** Resolves with all records once there are at least `count`. Never times out by itself. */
  received(count: number): Promise<readonly MemoryRecord[]>
  /** From now on this decides for each message. `null` makes all `ok` again. */
  script(script: Script | null): void
  /** From now on each publish waits before anything is stored. */
  hold(): void
  /** Resolves with the publishes that wait once there are at least `count`. */
  held(count: number): Promise<readonly HeldPublish[]>
  /** Lets the publishes that wait go on, and ends `hold`. */
  release(): void
  /** Every publish is refused as `unavailable`, and `check` fails, until `comeBack`. */
  goDown(): void
  comeBack(): void
  /** Stores what `land-late` kept back, unless the lane's fence has moved on. The answer counts the records stored. */
  land(): number
}

interface LateBytes {
  readonly message: Message
  readonly epoch: number
}

export function createMemoryBroker(options: MemoryBrokerOptions = {}): MemoryBroker {
  return new Broker(options)
}

class Broker implements MemoryBroker {
  readonly name = 'memory'
  readonly order: 'batch' | 'single'
  readonly limits: { readonly publishTimeoutMs: number }
  readonly fence?: Fence
  readonly #partitions: number
  readonly #records: MemoryRecord[] = []
  readonly #nextOffset = new Map<string, number>()
  readonly #tries = new Map<string, number>()
  /** The epoch that each lane publishes under, and the newest that each lane and partition has seen. */
  readonly #epochs = new Map<number, number>()
  readonly #seen = new Map<string, number>()
  readonly #changed = new Set<() => void>()
  #held: HeldPublish[] = []
  #late: LateBytes[] = []
  #script: Script | null = null
  #isHolding = false
  #isDown = false
  #isClosed = false

  constructor(options: MemoryBrokerOptions) {
    this.#partitions = options.partitions ?? 4
    this.order = options.order ?? 'batch'
    this.limits = { publishTimeoutMs: options.publishTimeoutMs ?? 5000 }
    if (options.fence ?? true) {
      this.fence = {
        advance: async (_lane, stored) => encodeEpoch(stored === null ? 0 : decodeEpoch(stored) + 1),
        enter: (lane, fence) => void this.#epochs.set(lane, decodeEpoch(fence)),
      }
    }
  }

  group(message: Message): string {
    return `${message.topic}/${this.#partitionOf(message)}`
  }

  async publish(batch: readonly Message[], context: PublishContext): Promise<Verdict[]> {
    this.#assertOpen()
    const epoch = this.#epochs.get(context.lane) ?? 0
    if (this.#isHolding) await this.#wait({ lane: context.lane, messages: batch }, context.signal)
    if (this.#isClosed) throw closed()
    const blocked = new Set<string>()
    const late = new Set<string>()
    const verdicts: Verdict[] = []
    for (const message of batch) {
      const verdict = blocked.has(blockOf(message))
        ? refused('unavailable', 'BEHIND_REFUSED', 'An earlier message of the same key in this batch was not accepted.')
        : this.#offer(message, epoch, late)
      if (verdict === 'hang') {
        await this.#giveUp(context.signal)
        return batch.map((_, i) => verdicts[i] ?? refused('unknown', 'NO_ANSWER', 'The broker did not answer in time.'))
      }
      if (verdict.kind === 'refused' && verdict.class !== 'unknown') blocked.add(blockOf(message))
      verdicts.push(verdict)
    }
    return verdicts
  }

  async check(): Promise<void> {
    this.#assertOpen()
    if (!this.#isDown) return
    throw new OutriderError('BROKER_UNREACHABLE', 'The memory broker is down.', { hint: 'Call comeBack().', retryable: true })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.release()
  }

  records(topic?: string): readonly MemoryRecord[] {
    return topic === undefined ? [...this.#records] : this.#records.filter((record) => record.topic === topic)
  }

  async received(count: number): Promise<readonly MemoryRecord[]> {
    while (this.#records.length < count) await this.#change()
    return this.records()
  }

  script(script: Script | null): void {
    this.#script = script
  }

  hold(): void {
    this.#isHolding = true
  }

  async held(count: number): Promise<readonly HeldPublish[]> {
    while (this.#held.length < count) await this.#change()
    return [...this.#held]
  }

  release(): void {
    this.#isHolding = false
    this.#held = []
    this.#wake()
  }

  goDown(): void {
    this.#isDown = true
  }

  comeBack(): void {
    this.#isDown = false
  }

  land(): number {
    const late = this.#late
    this.#late = []
    return late.filter(({ message, epoch }) => this.#append(message, epoch) !== null).length
  }

  /** @param late keys whose earlier messages of this batch are on their way: what follows them lands after them. */
  #offer(message: Message, epoch: number, late: Set<string>): Verdict | 'hang' {
    if (this.#isDown) return refused('unavailable', 'BROKER_DOWN', 'The memory broker is down.')
    const tries = this.#tries.get(message.id) ?? 0
    this.#tries.set(message.id, tries + 1)
    const outcome = late.has(blockOf(message)) ? 'land-late' : (this.#script?.(message, tries) ?? 'ok')
    switch (outcome) {
      case 'ok':
      case 'lose-answer': {
        const position = this.#append(message, epoch)
        if (position === null) return refused('unavailable', 'FENCED', `Epoch ${epoch} of lane ${message.lane} is over.`)
        return outcome === 'ok' ? { kind: 'accepted', position } : refused('unknown', 'ANSWER_LOST', 'The answer did not arrive.')
      }
      case 'land-late':
        late.add(blockOf(message))
        this.#late.push({ message, epoch })
        return refused('unknown', 'NO_ANSWER', 'The broker did not answer in time.')
      case 'hang':
        return 'hang'
      case 'throttled':
        return { ...refused('throttled', 'THROTTLED', 'The memory broker asks for a pause.'), retryAfterMs: 10 }
      case 'transient':
      case 'permanent':
      case 'unavailable':
        return refused(outcome, outcome.toUpperCase(), `The script says ${outcome}.`)
    }
  }

  /** Stores a record and answers its position; null when the lane's fence has moved on. */
  #append(message: Message, epoch: number): string | null {
    const partition = this.#partitionOf(message)
    const place = `${message.topic}/${partition}`
    const stream = `${message.lane} ${place}`
    if (this.fence !== undefined && epoch < (this.#seen.get(stream) ?? 0)) return null
    this.#seen.set(stream, epoch)
    const offset = this.#nextOffset.get(place) ?? 0
    this.#nextOffset.set(place, offset + 1)
    this.#records.push({
      topic: message.topic,
      partition,
      offset,
      key: message.key,
      value: message.payload,
      headers: {
        ...message.headers,
        eventId: message.id,
        eventType: message.type,
        eventTime: message.createdAt,
        aggregateType: message.aggregateType,
        'content-type': message.contentType,
      },
    })
    this.#wake()
    return `${place}/${offset}`
  }

  #partitionOf(message: Message): number {
    let hash = 0
    for (const char of message.key ?? message.id) hash = (Math.imul(hash, 31) + (char.codePointAt(0) ?? 0)) | 0
    return (hash & 0x7fffffff) % this.#partitions
  }

  async #wait(held: HeldPublish, signal: AbortSignal): Promise<void> {
    this.#held.push(held)
    this.#wake()
    while (this.#held.includes(held)) {
      if (signal.aborted) {
        this.#held = this.#held.filter((other) => other !== held)
        throw new Error('The publish was given up; nothing was stored.')
      }
      await this.#change(signal)
    }
  }

  /** Waits as a publish without an answer does: until the relay gives up, else to the deadline. */
  async #giveUp(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return
    const deadline = AbortSignal.timeout(this.limits.publishTimeoutMs)
    await this.#change(AbortSignal.any([signal, deadline]), false)
  }

  /** Resolves at the next change of records or held publishes, or when `signal` aborts. */
  #change(signal?: AbortSignal, wakes = true): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.#changed.delete(done)
        signal?.removeEventListener('abort', done)
        resolve()
      }
      if (wakes) this.#changed.add(done)
      signal?.addEventListener('abort', done)
    })
  }

  #wake(): void {
    for (const done of this.#changed) done()
  }

  #assertOpen(): void {
    if (this.#isClosed) throw closed()
  }
}

function refused(kind: RefusalClass, code: string, detail: string): Refused {
  return { kind: 'refused', class: kind, code, detail }
}

function closed(): OutriderError {
  return new OutriderError('CLOSED', 'The memory broker is closed. Nothing was published.')
}

function encodeEpoch(epoch: number): Uint8Array {
  return new TextEncoder().encode(String(epoch))
}

function decodeEpoch(fence: Uint8Array): number {
  return Number(new TextDecoder().decode(fence))
}
