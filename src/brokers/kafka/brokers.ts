// Which brokers there are, and questions that any of them can answer. One that hung lately is asked last.
import { isOutriderError, OutriderError, textOf } from '../../core/index.ts'
import type { Clock } from '../../core/index.ts'
import type { Links } from './links.ts'
import type { KafkaSettings } from './options.ts'
import { textOfAddress } from './wire.ts'
import type { Address, Link } from './wire.ts'

/** Questions have a connection of their own: one that hangs is ended without harm to what is published. */
const QUESTIONS = -1
const SUSPECT_FOR_MS = 10_000

export class Brokers {
  readonly #settings: KafkaSettings
  readonly #links: Links
  readonly #clock: Clock
  readonly #suspects = new Map<string, number>()
  #known = new Map<number, Address>()
  #turn = 0

  constructor(settings: KafkaSettings, links: Links, clock: Clock) {
    this.#settings = settings
    this.#links = links
    this.#clock = clock
  }

  /** For people: where it was told to begin. */
  get bootstrap(): string {
    return this.#settings.bootstrap.map(textOfAddress).join(', ')
  }

  know(brokers: readonly { readonly nodeId: number; readonly host: string; readonly port: number }[]): void {
    this.#known = new Map(brokers.map((one) => [one.nodeId, { host: one.host, port: one.port }]))
  }

  addressOf(nodeId: number): Address | undefined {
    return this.#known.get(nodeId)
  }

  /** It gave no answer in time. */
  suspect(address: Address): void {
    this.#suspects.set(textOfAddress(address), this.#clock.monotonicMs() + SUSPECT_FOR_MS)
    this.#links.drop(address, QUESTIONS)
  }

  /** Asks one broker after another until one answers within `patienceMs`. Rejects with BROKER_UNREACHABLE naming the addresses when none does. */
  async ask<T>(question: (link: Link) => Promise<T>, patienceMs: number = this.#settings.connectTimeoutMs): Promise<T> {
    const reasons: string[] = []
    let cause: unknown
    for (const address of this.#inOrder()) {
      let link: Link | null = null
      try {
        link = await this.#links.get(address, QUESTIONS)
        return await this.#inTime(question(link), patienceMs)
      } catch (error) {
        if (isOutriderError(error) && error.code !== 'BROKER_UNREACHABLE') throw error
        cause ??= error
        if (link === null) reasons.push(textOf(error))
        else {
          this.suspect(address)
          reasons.push(`Kafka at ${textOfAddress(address)} can't be reached: ${textOf(error)}. Nothing was sent.`)
        }
      }
    }
    throw new OutriderError(
      'BROKER_UNREACHABLE',
      reasons.length === 1 ? `${reasons[0]}` : `No Kafka broker can be reached. Nothing was sent.\n  ${reasons.join('\n  ')}`,
      { hint: 'Is the broker up, and are the address, TLS and SASL options right?', retryable: true, cause },
    )
  }

  #inOrder(): Address[] {
    const addresses = new Map([...this.#known.values(), ...this.#settings.bootstrap].map((one) => [textOfAddress(one), one]))
    const all = [...addresses.entries()]
    const from = this.#turn++ % Math.max(1, all.length)
    const now = this.#clock.monotonicMs()
    const isSuspect = (name: string): boolean => (this.#suspects.get(name) ?? 0) > now
    const turned = [...all.slice(from), ...all.slice(0, from)]
    return [...turned.filter(([name]) => !isSuspect(name)), ...turned.filter(([name]) => isSuspect(name))].map(([, address]) => address)
  }

  async #inTime<T>(answer: Promise<T>, patienceMs: number): Promise<T> {
    const giveUp = new AbortController()
    const late = this.#clock.sleep(patienceMs, giveUp.signal).then(() => {
      throw new Error(`no answer within ${patienceMs} ms`)
    })
    late.catch(() => {})
    try {
      return await Promise.race([answer, late])
    } finally {
      giveUp.abort()
    }
  }
}
