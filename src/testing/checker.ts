// Compares what was committed with what a topic holds. Takes no part in the delivery and asks nobody but its two inputs.

/** A message whose transaction committed, as the business tables tell it. */
export interface CommittedMessage {
  readonly id: string
  /** The ordering key; null: the message has no order. */
  readonly key: string | null
  /** A counter that the writer raises under the lock of the key's own row: the true order of the key. Need not be without gaps. */
  readonly n: number | bigint
  /** What the record must say, when that is to be compared as well. */
  readonly content?: string
}

/** A record of a topic, read from its start. Records of one partition come in the partition's order. */
export interface DeliveredRecord {
  readonly id: string
  readonly key: string | null
  /** Where it lies; a key must be in one partition only. @default 0 */
  readonly partition?: number
  readonly content?: string
}

/** What became of the committed messages. All but `committed` and `delivered` (and the two of parking) are 0 in an undisturbed run. */
export interface DeliveryFigures {
  readonly committed: number
  /** Committed messages that are in the topic. */
  readonly delivered: number
  /** Committed, neither in the topic nor parked. */
  readonly lost: number
  /** Distinct messages in the topic that were never committed, or not with that key or content. */
  readonly ghosts: number
  /** First deliveries of a key that come after a newer message of it, or in another partition than the key's first one. */
  readonly reordered: number
  /** Records of committed messages beyond the first of each. At-least-once delivery has them; an inbox absorbs them. */
  readonly duplicates: number
  /**
   * Repeats that are no replay. A replay of a key goes back and then on from there: after a repeat of message n comes n + 1 or an earlier one,
   * and the key's last record is its newest message. Anything else would leave an old state as the last word.
   */
  readonly lateRepeats: number
  /** Parked for good, not in the topic. */
  readonly failed: number
  /** Parked behind another one or for another try, not in the topic. */
  readonly waiting: number
  /** The ids behind the figures, for people: each list has at most 20. */
  readonly examples: Readonly<Record<'lost' | 'ghosts' | 'reordered' | 'lateRepeats', readonly string[]>>
}

export interface ParkedMessage {
  readonly id: string
  readonly state: 'retrying' | 'waiting' | 'failed'
}

/**
 * Computes the figures. Order is judged by `n`, so it is only as good as the lock under which `n` was raised.
 *
 * @param records the whole topic, in order within each partition
 * @param parked what the outbox holds aside
 */
export function checkDelivery(
  committed: readonly CommittedMessage[],
  records: readonly DeliveredRecord[],
  parked: readonly ParkedMessage[] = [],
): DeliveryFigures {
  const known = new Map(committed.map((message) => [message.id, message]))
  if (known.size !== committed.length) throw new RangeError('Two committed messages have the same id: nothing can be said of them.')
  const first = new Map<string, DeliveredRecord>()
  const ghosts = new Set<string>()
  const byKey = new Map<string, DeliveredRecord[]>()
  let duplicates = 0
  for (const record of records) {
    const message = known.get(record.id)
    if (message === undefined || !says(record, message)) {
      ghosts.add(record.id)
      continue
    }
    if (first.has(record.id)) duplicates++
    else first.set(record.id, record)
    if (message.key === null) continue
    const ofKey = byKey.get(message.key)
    if (ofKey === undefined) byKey.set(message.key, [record])
    else ofKey.push(record)
  }
  const reordered: string[] = []
  const lateRepeats: string[] = []
  for (const ofKey of byKey.values()) judgeKey(ofKey, known, reordered, lateRepeats)

  const states = new Map(parked.filter(({ id }) => !first.has(id)).map(({ id, state }) => [id, state]))
  const lost = committed.map(({ id }) => id).filter((id) => !first.has(id) && !states.has(id))
  const failed = [...states.values()].filter((state) => state === 'failed').length
  return {
    committed: committed.length,
    delivered: first.size,
    lost: lost.length,
    ghosts: ghosts.size,
    reordered: reordered.length,
    duplicates,
    lateRepeats: lateRepeats.length,
    failed,
    waiting: states.size - failed,
    examples: {
      lost: lost.slice(0, 20),
      ghosts: [...ghosts].slice(0, 20),
      reordered: reordered.slice(0, 20),
      lateRepeats: lateRepeats.slice(0, 20),
    },
  }
}

function says(record: DeliveredRecord, message: CommittedMessage): boolean {
  return record.key === message.key && (message.content === undefined || record.content === message.content)
}

function judgeKey(
  records: readonly DeliveredRecord[],
  known: ReadonlyMap<string, CommittedMessage>,
  reordered: string[],
  lateRepeats: string[],
): void {
  // Numbers of the key that are in the topic, lowest first: rolled back, lost and parked messages leave holes that are nobody's repeat.
  const numbers = [...new Set(records.map(({ id }) => numberOf(id, known)))].toSorted((a, b) => (a < b ? -1 : 1))
  const rankOf = new Map(numbers.map((n, rank) => [n, rank]))
  const ranks = records.map(({ id }) => rankOf.get(numberOf(id, known)) ?? 0)
  const home = records[0]?.partition ?? 0
  const seen = new Set<string>()
  let newest = -1
  for (const [at, { id, partition = 0 }] of records.entries()) {
    const rank = ranks[at] ?? 0
    if (!seen.has(id)) {
      seen.add(id)
      if (rank < newest || partition !== home) reordered.push(id)
      newest = Math.max(newest, rank)
      continue
    }
    const next = ranks[at + 1]
    if (next === undefined ? rank !== numbers.length - 1 : next > rank + 1) lateRepeats.push(id)
  }
}

function numberOf(id: string, known: ReadonlyMap<string, CommittedMessage>): bigint {
  return BigInt(known.get(id)?.n ?? 0)
}
