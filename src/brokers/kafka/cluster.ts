// What is known of the cluster: its id, its brokers, the partitions of the topics in use and who leads them. Asked for anew when an answer shows that it is
// stale; many who ask at once share one request.
import type { Clock } from '../../core/index.ts'
import { isOutriderError, OutriderError, textOf } from '../../core/index.ts'
import type { Brokers } from './brokers.ts'
import type { Call } from './call.ts'
import { findingOf, nameOf } from './classify.ts'
import type { Links } from './links.ts'
import type { KafkaSettings } from './options.ts'
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
  readonly #brokers: Brokers
  readonly #links: Links
  readonly #clock: Clock
  readonly #topics = new Map<string, Topic>()
  readonly #problems = new Map<string, TopicProblem>()
  readonly #missing = new Map<string, { readonly sinceMs: number; lastMs: number }>()
  readonly #wanted = new Set<string>()
  readonly #doubtful = new Set<string>()
  #clusterId: string | null = null
  #running: Promise<void> | null = null
  #next: Promise<void> | null = null

  constructor(settings: KafkaSettings, brokers: Brokers, links: Links, clock: Clock) {
    this.#settings = settings
    this.#brokers = brokers
    this.#links = links
    this.#clock = clock
  }

  /** Number of partitions as far as it is known now; asks for nothing. */
  partitionsOf(name: string): number | undefined {
    return this.#topics.get(name)?.leaders.length
  }

  /** The topic as known; asked for when it isn't known, or when its leader gave no answer. What is only old is used, and renewed behind it. */
  async topic(name: string, call: Call): Promise<Topic | TopicProblem> {
    const known = this.#topics.get(name)
    if (known === undefined) return this.renewed(name, call)
    if (this.#doubtful.has(name)) {
      const renewed = await this.renewed(name, call)
      // Nobody could say: the leader that was is the best guess.
      return 'leaders' in renewed || renewed.kind !== 'unreachable' ? renewed : known
    }
    if (this.#clock.monotonicMs() - known.askedAtMs > this.#settings.metadataMaxAgeMs) this.refresh(name).catch(() => {})
    return known
  }

  /** The topic's leader at this address gave no answer in time: another may lead by now. */
  suspect(name: string, address: Address): void {
    this.#doubtful.add(name)
    this.#brokers.suspect(address)
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
    const address = leader === undefined ? undefined : this.#brokers.addressOf(leader)
    return address === undefined ? null : this.#links.get(address, slot)
  }

  async id(): Promise<string> {
    if (this.#clusterId === null) await this.refresh(null)
    if (this.#clusterId === null) throw new OutriderError('BROKER_INCOMPATIBLE', 'The Kafka cluster has no id. Nothing was sent.')
    return this.#clusterId
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
    const names = [...this.#wanted]
    // A publish that waits for the answer should have time to hear from another broker, and to publish.
    const { connectTimeoutMs, publishTimeoutMs } = this.#settings
    const patienceMs = Math.min(connectTimeoutMs, Math.max(500, publishTimeoutMs / 4))
    this.#take(await this.#brokers.ask((link) => link.metadata(names), patienceMs), names)
  }

  #take(answer: MetadataAnswer, names: readonly string[]): void {
    const now = this.#clock.monotonicMs()
    this.#clusterId = answer.clusterId
    this.#brokers.know(answer.brokers)
    const told = new Map(answer.topics.map((one) => [one.name, one]))
    for (const name of names) {
      const topic = told.get(name)
      const code = topic?.errorCode ?? 3
      if (topic !== undefined && code === 0 && topic.partitions.length > 0) {
        const leaders = Array.from<number>({ length: topic.partitions.length }).fill(-1)
        for (const one of topic.partitions) leaders[one.index] = one.leader
        this.#topics.set(name, { leaders, askedAtMs: now })
        this.#doubtful.delete(name)
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
        detail: `topic ${name} doesn't exist on ${this.#brokers.bootstrap} (cluster ${this.#clusterId ?? 'unknown'})`,
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
