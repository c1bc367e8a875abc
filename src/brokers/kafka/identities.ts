// Hands out the lanes' identities: the same producer id with the next epoch, or a new id where the old one is of no use.
import { OutriderError } from '../../core/index.ts'
import type { Clock } from '../../core/index.ts'
import type { Brokers } from './brokers.ts'
import { Call } from './call.ts'
import { findingOf, nameOf } from './classify.ts'
import type { Cluster } from './cluster.ts'
import { decodeFence, encodeFence, LAST_EPOCH } from './fence.ts'
import { textOfAddress } from './wire.ts'

/** What the publisher asks of a broker: Produce 11, Metadata 12, InitProducerId 5. */
const needed: readonly (readonly [name: string, key: number, version: number])[] = [
  ['Produce', 0, 11],
  ['Metadata', 3, 12],
  ['InitProducerId', 22, 5],
]
const never = new AbortController().signal
const MAX_SPENT = 1_000

export class Identities {
  readonly #cluster: Cluster
  readonly #brokers: Brokers
  readonly #clock: Clock
  readonly #timeoutMs: number
  readonly #spent = new Set<bigint>()
  #isCompatible = false

  constructor(cluster: Cluster, brokers: Brokers, clock: Clock, timeoutMs: number) {
    this.#cluster = cluster
    this.#brokers = brokers
    this.#clock = clock
    this.#timeoutMs = timeoutMs
  }

  /** From now on the next fence takes another id in place of this one. */
  spend(producerId: bigint): void {
    if (this.#spent.size >= MAX_SPENT) this.#spent.clear()
    this.#spent.add(producerId)
  }

  async advance(stored: Uint8Array | null): Promise<Uint8Array> {
    return this.#inTime(async (call) => {
      await this.#compatible()
      const clusterId = await this.#cluster.id()
      const before = stored === null ? null : decodeFence(stored)
      // Another cluster's epochs mean nothing here, and there its producer ids belong to somebody else.
      if (before !== null && before.clusterId === clusterId && before.epoch < LAST_EPOCH && !this.#spent.has(before.producerId)) {
        return encodeFence({ ...before, epoch: before.epoch + 1 })
      }
      return encodeFence({ clusterId, producerId: await this.#newId(call), epoch: 0 })
    })
  }

  /** Rejects when no broker can be reached, or when it is too old. */
  async check(): Promise<void> {
    await this.#inTime(async () => {
      this.#isCompatible = false
      await this.#compatible()
      await this.#cluster.refresh(null)
    })
  }

  async #inTime<T>(work: (call: Call) => Promise<T>): Promise<T> {
    const call = new Call(this.#clock, this.#timeoutMs, never)
    try {
      const done = await call.within(work(call))
      if (done !== null) return done.value
    } finally {
      call.end()
    }
    throw new OutriderError(
      'BROKER_UNREACHABLE',
      `Kafka at ${this.#brokers.bootstrap} gave no answer within ${this.#timeoutMs} ms. Nothing was sent.`,
      {
        hint: 'Is the broker up, and are the address, TLS and SASL options right?',
        retryable: true,
      },
    )
  }

  async #compatible(): Promise<void> {
    if (this.#isCompatible) return
    const { versions, address } = await this.#brokers.ask(async (link) => ({ versions: await link.apiVersions(), address: link.address }))
    const lacking = needed.filter(([, key, version]) => {
      const range = versions.get(key)
      return range === undefined || range.min > version || range.max < version
    })
    if (lacking.length > 0) {
      const list = lacking.map(
        ([name, key, version]) => `${name} ${version} (speaks ${versions.get(key)?.min ?? '-'} to ${versions.get(key)?.max ?? '-'})`,
      )
      throw new OutriderError(
        'BROKER_INCOMPATIBLE',
        `Kafka at ${textOfAddress(address)} doesn't speak ${list.join(', ')}. Nothing was sent.`,
        {
          hint: 'Outrider needs Kafka 3.9 or later.',
        },
      )
    }
    this.#isCompatible = true
  }

  async #newId(call: Call): Promise<bigint> {
    for (let tries = 0; ; tries++) {
      const { answer, address } = await this.#brokers.ask(async (link) => ({ answer: await link.initProducerId(), address: link.address }))
      if (answer.errorCode === 0) return answer.producerId
      const refusal = `Kafka at ${textOfAddress(address)} gives no producer id: ${nameOf(answer.errorCode)}. Nothing was sent.`
      if (findingOf(answer.errorCode) === 'forbidden') {
        throw new OutriderError('BROKER_FORBIDDEN', refusal, {
          hint: 'Grant the principal WRITE on the topics, or IDEMPOTENT_WRITE on the cluster.',
        })
      }
      if (call.leftMs === 0) throw new OutriderError('BROKER_UNREACHABLE', refusal, { retryable: true })
      await call.pause(Math.min(20 * 2 ** Math.min(tries, 6), 500))
    }
  }
}
