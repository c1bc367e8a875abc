// What is known of the cluster: its id, its brokers, the partitions of the topics in use and who leads them. Asked for anew when an answer shows that it is
// stale; many who ask at once share one request.
import type { Clock } from '../../core/index.ts'
import { isOutriderError, OutriderError, textOf } from '../../core/index.ts'
import type { Call } from './call.ts'
import { findingOf, nameOf } from './classify.ts'
import { Links } from './links.ts'
import type { KafkaSettings } from './options.ts'
import { textOfAddress } from './wire.ts'
import type { Address, Link, MetadataAnswer } from './wire.ts'

export interface Topic {
  /** Leader by partition number, -1 where there is none now. */
  readonly leaders: readonly number[]
  readonly askedAtMs: number
}

/** Why a topic can't be used now. */
export interface TopicProblem {
  readonly kind: 'missing' | 'refused' | 'forbidden' | 'stale' | 'unreachable'
  readonly code: string
  readonly detail: string
}

/** Between two questions about the same topic. */
const LEAST_PAUSE_MS = 50

export class Cluster {
  readonly #settings: KafkaSettings
  readonly #links: Links
  readonly #clock: Clock
  readonly #topics = new Map<string, Topic>()
  readonly #problems = new Map<string, TopicProblem>()
  readonly #missing = new Map<string, { readonly sinceMs: number; lastMs: number }>()
  readonly #wanted = new Set<string>()
  #brokers = new Map<number, Address>()
  #clusterId: string | null = null
  #running: Promise<void> | null = null
  #next: Promise<void> | null = null
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

  /** Number of partitions as far as it is known now; asks for nothing. */
  partitionsOf(name: string): number | undefined {
    return this.#topics.get(name)?.leaders.length
  }

  /** The topic as known, asked for when it isn't. An old answer is used, and renewed behind it. */
  async topic(name: string, call: Call): Promise<Topic | TopicProblem> {
    const known = this.#topics.get(name)
    if (known !== undefined) {
      if (this.#clock.monotonicMs() - known.askedAtMs > this.#settings.metadataMaxAgeMs) this.refresh(name).catch(() => {})
      return known
    }
    return this.renewed(name, call)
  }

  /** The topic after a new question to the brokers. */
  async renewed(name: string, call: Call): Promise<Topic | TopicProblem> {
    try {
      const done = await call.within(this.refresh(name))
      if (done === null) return { kind: 'unreachable', code: 'BROKER_UNREACHABLE', detail: `no broker said in time who leads ${name}` }
    } catch (error) {
      return { kind: 'unreachable', code: isOutriderError(error) ? error.code : 'BROKER_UNREACHABLE', detail: textOf(error) }
    }
    return (
      this.#topics.get(name) ?? this.#problems.get(name) ?? { kind: 'missing', code: 'UNKNOWN_TOPIC', detail: `no answer about ${name}` }
    )
  }

  /** How long the topic has been missing, in milliseconds; the time counts while somebody asks for it. */
  missingForMs(name: string): number {
    const since = this.#missing.get(name)?.sinceMs
    return since === undefined ? 0 : this.#clock.monotonicMs() - since
  }

  /** A connection to the partition's leader; null when there is no leader now. Rejects when it can't be reached. */
  async leader(name: string, partition: number, slot: number): Promise<Link | null> {
    const leader = this.#topics.get(name)?.leaders[partition]
    const address = leader === undefined ? undefined : this.#brokers.get(leader)
    return address === undefined ? null : this.#links.get(address, slot)
  }

  async id(): Promise<string> {
    if (this.#clusterId === null) await this.refresh(null)
    if (this.#clusterId === null) throw new OutriderError('BROKER_INCOMPATIBLE', 'The Kafka cluster has no id. Nothing was sent.')
    return this.#clusterId
  }

  /** A connection to any broker. Rejects with BROKER_UNREACHABLE naming the addresses when none answers. */
  async anyone(): Promise<Link> {
    const open = this.#links.open()
    const link = open[this.#turn++ % Math.max(1, open.length)]
    if (link !== undefined) return link
    const tried = new Map<string, unknown>()
    const known = [...this.#brokers.values(), ...this.#settings.bootstrap]
    for (let i = 0; i < known.length; i++) {
      const address = known[(i + this.#turn) % known.length]
      if (address === undefined || tried.has(textOfAddress(address))) continue
      try {
        return await this.#links.get(address, 0)
      } catch (error) {
        if (isOutriderError(error, 'CLOSED') || isOutriderError(error, 'DRIVER_MISSING')) throw error
        tried.set(textOfAddress(address), error)
      }
    }
    const reasons = [...tried.values()].map(textOf)
    throw new OutriderError(
      'BROKER_UNREACHABLE',
      reasons.length === 1 ? `${reasons[0]}` : `No Kafka broker can be reached. Nothing was sent.\n  ${reasons.join('\n  ')}`,
      {
        hint: 'Is the broker up, and are the address, TLS and SASL options right?',
        retryable: true,
        cause: [...tried.values()][0],
      },
    )
  }

  /** Asks again, about `name` and all other topics in use. Joins a question that isn't sent yet. */
  async refresh(name: string | null): Promise<void> {
    if (name !== null) this.#wanted.add(name)
    if (this.#running === null) {
      this.#running = this.#ask().finally(() => (this.#running = null))
      return this.#running
    }
    // The one under way may have been answered from what was true before.
    const running = this.#running
    this.#next ??= running
      .catch(() => {})
      .then(() => this.#clock.sleep(LEAST_PAUSE_MS))
      .then(() => {
        this.#next = null
        return this.refresh(null)
      })
    return this.#next
  }

  async #ask(): Promise<void> {
    const link = await this.anyone()
    const names = [...this.#wanted]
    const giveUp = new AbortController()
    try {
      const answer = await Promise.race([
        link.metadata(names),
        this.#clock.sleep(this.#settings.connectTimeoutMs, giveUp.signal).then(() => {
          throw new Error(`no answer within ${this.#settings.connectTimeoutMs} ms`)
        }),
      ])
      this.#take(answer, names)
    } catch (error) {
      link.destroy()
      throw new OutriderError('BROKER_UNREACHABLE', `Kafka at ${textOfAddress(link.address)} didn't say who leads: ${textOf(error)}`, {
        retryable: true,
        cause: error,
      })
    } finally {
      giveUp.abort()
    }
  }

  #take(answer: MetadataAnswer, names: readonly string[]): void {
    const now = this.#clock.monotonicMs()
    this.#clusterId = answer.clusterId
    this.#brokers = new Map(answer.brokers.map((one) => [one.nodeId, { host: one.host, port: one.port }]))
    const told = new Map(answer.topics.map((one) => [one.name, one]))
    for (const name of names) {
      const topic = told.get(name)
      const code = topic?.errorCode ?? 3
      if (topic !== undefined && code === 0 && topic.partitions.length > 0) {
        const leaders = Array.from<number>({ length: topic.partitions.length }).fill(-1)
        for (const one of topic.partitions) leaders[one.index] = one.leader
        this.#topics.set(name, { leaders, askedAtMs: now })
        this.#problems.delete(name)
        this.#missing.delete(name)
      } else this.#note(name, code, now)
    }
  }

  #note(name: string, code: number, now: number): void {
    const finding = code === 0 ? 'stale' : findingOf(code)
    if (finding === 'missing') {
      this.#topics.delete(name)
      // Whoever asked meanwhile waits for the next answer.
      if (this.#next === null) this.#wanted.delete(name)
      const before = this.#missing.get(name)
      if (before !== undefined && now - before.lastMs <= Math.max(this.#settings.unknownTopicGraceMs, 60_000)) before.lastMs = now
      else this.#missing.set(name, { sinceMs: now, lastMs: now })
      this.#problems.set(name, {
        kind: 'missing',
        code: 'UNKNOWN_TOPIC',
        detail: `topic ${name} doesn't exist on ${this.bootstrap} (cluster ${this.#clusterId ?? 'unknown'})`,
      })
    } else {
      const kind = finding === 'topicRefused' ? 'refused' : finding === 'forbidden' ? 'forbidden' : 'stale'
      if (kind === 'refused') this.#wanted.delete(name)
      this.#problems.set(name, { kind, code: nameOf(code), detail: `Kafka answers ${nameOf(code)} when asked for topic ${name}` })
      // A known topic keeps its partitions: what is known of them says where to try.
      if (kind !== 'stale') this.#topics.delete(name)
    }
  }
}
