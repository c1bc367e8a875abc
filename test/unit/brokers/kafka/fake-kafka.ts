// A Kafka in memory that keeps its rules of producer ids, epochs and sequence numbers, and that can be told to answer wrongly.
import { NotSent } from '../../../../src/brokers/kafka/wire.ts'
import type { Address, Link, MetadataAnswer, ProduceAnswer, ProduceRequest, Wire, WireRecord } from '../../../../src/brokers/kafka/wire.ts'

interface Batch {
  readonly sequence: number
  readonly count: number
  readonly baseOffset: bigint
}

interface Producer {
  epoch: number
  /** The last five, as the broker keeps them. */
  batches: Batch[]
}

interface Partition {
  leader: number
  readonly log: WireRecord[]
  readonly producers: Map<bigint, Producer>
}

/** What happens to a request: an answer in place of the broker's, or the broker's own, given late or never. */
export type Fate =
  | { readonly kind: 'answer'; readonly code: number; readonly recordErrors?: readonly number[]; readonly baseOffset?: bigint }
  /** Stored as usual, answered with an error code. */
  | { readonly kind: 'storedBut'; readonly code: number }
  /** The connection breaks before the broker has it, or after. */
  | { readonly kind: 'lost'; readonly stored: boolean }
  | { readonly kind: 'notSent' }
  /** Answers when `release` is called. */
  | { readonly kind: 'held' }

export class FakeKafka implements Wire {
  readonly topics = new Map<string, Partition[]>()
  readonly requests: ProduceRequest[] = []
  /** What becomes of the next requests, in turn; after that they are served. */
  readonly fates: (Fate | null)[] = []
  /** Chosen for each request when `fates` is empty. */
  fate: (request: ProduceRequest) => Fate | null = () => null
  /** Resolves before metadata is answered. */
  metadataGate: Promise<void> = Promise.resolve()
  clusterId = 'fake'
  throttleMs = 0
  limit: number | null = null
  mostInFlight = 0
  connections = 0
  #nextId = 100n
  readonly #inFlight = new Map<string, number>()
  readonly #held: (() => void)[] = []
  #arrived: (() => void)[] = []

  constructor(topics: Readonly<Record<string, number>>) {
    for (const [name, partitions] of Object.entries(topics)) this.create(name, partitions)
  }

  create(name: string, partitions: number): void {
    const before = this.topics.get(name) ?? []
    const more = Array.from({ length: partitions - before.length }, (): Partition => ({ leader: 1, log: [], producers: new Map() }))
    this.topics.set(name, [...before, ...more])
  }

  /** Values of a partition as text. */
  values(topic: string, partition = 0): string[] {
    return (this.topics.get(topic)?.[partition]?.log ?? []).map((one) => one.value?.toString() ?? '')
  }

  release(): void {
    for (const go of this.#held.splice(0)) go()
  }

  /** Resolves when `count` requests have come in all. */
  async arrived(count: number): Promise<void> {
    while (this.requests.length < count) await new Promise<void>((resolve) => this.#arrived.push(resolve))
  }

  async connect(address: Address): Promise<Link> {
    this.connections += 1
    let isOpen = true
    return {
      address,
      get isOpen() {
        return isOpen
      },
      produce: (request) => (isOpen ? this.#receive(request, () => (isOpen = false)) : Promise.reject(new NotSent('closed'))),
      metadata: (topics) => this.#metadata(topics),
      initProducerId: async () => ({ errorCode: 0, producerId: this.#nextId++ }),
      topicLimit: async () => this.limit,
      apiVersions: async () => new Map([0, 3, 22].map((key) => [key, { min: 0, max: 20 }])),
      destroy() {
        isOpen = false
      },
    }
  }

  async #metadata(topics: readonly string[]): Promise<MetadataAnswer> {
    await this.metadataGate
    return {
      clusterId: this.clusterId,
      brokers: [1, 2].map((nodeId) => ({ nodeId, host: `node${nodeId}`, port: 9092 })),
      topics: topics.map((name) => {
        const partitions = this.topics.get(name)
        return {
          name,
          errorCode: partitions === undefined ? 3 : 0,
          partitions: (partitions ?? []).map((one, index) => ({ index, errorCode: 0, leader: one.leader })),
        }
      }),
    }
  }

  async #receive(request: ProduceRequest, cut: () => void): Promise<ProduceAnswer> {
    this.requests.push(request)
    for (const go of this.#arrived.splice(0)) go()
    const stream = `${request.producerId}/${request.topic}/${request.partition}`
    const now = (this.#inFlight.get(stream) ?? 0) + 1
    this.#inFlight.set(stream, now)
    this.mostInFlight = Math.max(this.mostInFlight, now)
    try {
      const fate = this.fates.shift() ?? this.fate(request)
      if (fate?.kind === 'held') await new Promise<void>((resolve) => this.#held.push(resolve))
      else await Promise.resolve()
      if (fate?.kind === 'notSent') throw new NotSent('closed')
      if (fate?.kind === 'answer') return this.#answer(fate.code, fate.baseOffset ?? -1n, fate.recordErrors ?? [])
      if (fate?.kind === 'lost') {
        if (fate.stored) this.append(request)
        cut()
        throw new Error('Connection closed')
      }
      const answer = this.append(request)
      return fate?.kind === 'storedBut' ? this.#answer(fate.code, -1n, []) : answer
    } finally {
      this.#inFlight.set(stream, (this.#inFlight.get(stream) ?? 1) - 1)
    }
  }

  /** What Kafka does with a batch: refuses an older epoch, recognises a repeat, refuses a gap. */
  append(request: ProduceRequest): ProduceAnswer {
    const partition = this.topics.get(request.topic)?.[request.partition]
    if (partition === undefined) return this.#answer(3, -1n, [])
    const known = partition.producers.get(request.producerId) ?? { epoch: -1, batches: [] }
    if (request.epoch < known.epoch) return this.#answer(47, -1n, [])
    if (request.epoch > known.epoch) {
      if (known.epoch >= 0 && request.sequence !== 0) return this.#answer(45, -1n, [])
      known.epoch = request.epoch
      known.batches = []
    }
    const repeat = known.batches.find((one) => one.sequence === request.sequence && one.count === request.records.length)
    if (repeat !== undefined) return this.#answer(0, repeat.baseOffset, [])
    const last = known.batches.at(-1)
    if (last !== undefined && request.sequence !== (last.sequence + last.count) % 0x80000000) return this.#answer(45, -1n, [])
    const baseOffset = BigInt(partition.log.length)
    known.batches = [...known.batches, { sequence: request.sequence, count: request.records.length, baseOffset }].slice(-5)
    partition.producers.set(request.producerId, known)
    partition.log.push(...request.records)
    return this.#answer(0, baseOffset, [])
  }

  #answer(errorCode: number, baseOffset: bigint, recordErrors: readonly number[]): ProduceAnswer {
    return {
      errorCode,
      errorMessage: null,
      baseOffset,
      recordErrors: recordErrors.map((index) => ({ index, message: `record ${index} is bad` })),
      throttleMs: this.throttleMs,
    }
  }
}
