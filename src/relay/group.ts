// The queue of one independent stream of a lane's messages. Always in order of `seq`, whatever was put back.
import type { Message } from '../core/index.ts'
import { blockOf } from '../core/index.ts'

/** Keyed messages of a group that was there before; a new group waits for them. */
interface Earlier {
  readonly group: Group
  readonly upToSeq: bigint
}

/** How far a look for different keys goes, in batches. */
const lookAhead = 4

export class Group {
  readonly name: string
  readonly topics = new Set<string>()
  /** At the broker now; null when nothing is. */
  inFlight: readonly Message[] | null = null
  /** Times in a row that it was sent again. */
  tries = 0
  isPaused = false
  #messages: Message[] = []
  #first = 0
  #lastTopic: string | null = null
  #offer = -1
  #highestBefore = -1n
  #earlier: Earlier[] = []

  constructor(name: string) {
    this.name = name
  }

  get length(): number {
    return this.#messages.length - this.#first
  }

  /** @param offer number of the read that brought it */
  add(message: Message, offer: number): void {
    if (this.#offer !== offer) {
      this.#offer = offer
      this.#highestBefore = this.#highest()
    }
    if (message.topic !== this.#lastTopic) {
      this.#lastTopic = message.topic
      this.topics.add(message.topic)
    }
    const messages = this.#messages
    let at = messages.length
    while (at > this.#first && (messages[at - 1]?.seq ?? -1n) > message.seq) at--
    if (at === messages.length) messages.push(message)
    else messages.splice(at, 0, message)
  }

  /** @param back in order of `seq` */
  putBack(back: readonly Message[]): void {
    const rest = this.#messages.slice(this.#first)
    this.#first = 0
    const last = back.at(-1)
    const next = rest[0]
    if (last === undefined || next === undefined) this.#messages = [...back, ...rest]
    else if (last.seq < next.seq) this.#messages = back.concat(rest)
    else this.#messages = [...back, ...rest].toSorted((a, b) => (a.seq < b.seq ? -1 : a.seq > b.seq ? 1 : 0))
  }

  take(max: number): Message[] {
    const end = Math.min(this.#first + max, this.#messages.length)
    const batch = this.#messages.slice(this.#first, end)
    this.#first = end
    if (end === this.#messages.length || end > 1024) {
      this.#messages = this.#messages.slice(end)
      this.#first = 0
    }
    return batch
  }

  /** The first messages that differ in topic or key; the others stay, in order. */
  takeDifferent(max: number): Message[] {
    const blocks = new Set<string>()
    const batch: Message[] = []
    const rest: Message[] = []
    const end = Math.min(this.#messages.length, this.#first + max * lookAhead)
    let at = this.#first
    for (; at < end && batch.length < max; at++) {
      const message = this.#messages[at]
      if (message === undefined) continue
      const block = blockOf(message)
      if (blocks.has(block)) rest.push(message)
      else {
        blocks.add(block)
        batch.push(message)
      }
    }
    this.#messages = rest.concat(this.#messages.slice(at))
    this.#first = 0
    return batch
  }

  /** Takes out all messages of these blocks. */
  takeBlocks(blocks: ReadonlySet<string>): Message[] {
    const taken: Message[] = []
    const kept: Message[] = []
    for (let at = this.#first; at < this.#messages.length; at++) {
      const message = this.#messages[at]
      if (message !== undefined) (message.key !== null && blocks.has(blockOf(message)) ? taken : kept).push(message)
    }
    this.#messages = kept
    this.#first = 0
    return taken
  }

  /**
   * A publisher may name groups differently once it knows more (a topic's partitions), so a key of this new group may have messages in
   * an older one: those go first.
   */
  waitForEarlier(groups: Iterable<Group>, topic: string, offer: number): void {
    for (const group of groups) {
      if (group === this || !group.topics.has(topic)) continue
      const upToSeq = group.#offer === offer ? group.#highestBefore : group.#highest()
      if (upToSeq >= 0n) this.#earlier.push({ group, upToSeq })
    }
  }

  get isBehind(): boolean {
    for (let last = this.#earlier.at(-1); last !== undefined; last = this.#earlier.at(-1)) {
      const lowest = last.group.#lowest()
      if (lowest !== null && lowest <= last.upToSeq) return true
      this.#earlier.pop()
    }
    return false
  }

  #lowest(): bigint | null {
    const atBroker = this.inFlight?.[0]?.seq
    const queued = this.#messages[this.#first]?.seq
    if (atBroker === undefined) return queued ?? null
    return queued === undefined || atBroker < queued ? atBroker : queued
  }

  #highest(): bigint {
    const atBroker = this.inFlight?.at(-1)?.seq ?? -1n
    const queued = this.length > 0 ? (this.#messages.at(-1)?.seq ?? -1n) : -1n
    return atBroker > queued ? atBroker : queued
  }
}
