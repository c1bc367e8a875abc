// A lane under one fence: its producer id and epoch, and what belongs to them. A new fence is a new Lane, so an answer that comes late
// to a request of the old one can't touch the new one's counters.
import type { Shared, Stream } from './stream.ts'
import { createStream } from './stream.ts'
import type { LaneIdentity } from './fence.ts'
import { Turns } from './turns.ts'

export class Lane {
  readonly number: number
  readonly identity: LaneIdentity
  /** Another fence was entered: nothing more may be sent under this one. */
  isRetired = false
  readonly #topics = new Map<string, TopicLane>()
  readonly #shared: Shared

  constructor(number: number, identity: LaneIdentity, shared: Shared) {
    this.number = number
    this.identity = identity
    this.#shared = shared
  }

  topic(name: string): TopicLane {
    let topic = this.#topics.get(name)
    if (topic === undefined) {
      topic = { turns: new Turns(), streams: new Map(), turn: this.number }
      this.#topics.set(name, topic)
    }
    return topic
  }

  stream(name: string, partition: number): Stream {
    const { streams } = this.topic(name)
    let stream = streams.get(partition)
    if (stream === undefined) {
      stream = createStream(this, name, partition, this.#shared)
      streams.set(partition, stream)
    }
    return stream
  }
}

export interface TopicLane {
  /** Calls that see the same number of partitions overlap; others wait, for keys may have moved. */
  readonly turns: Turns
  readonly streams: Map<number, Stream>
  /** Where the next batch of messages without a key goes. */
  turn: number
}
