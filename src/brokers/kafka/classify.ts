// What a Kafka error code says about the batch that it answers. Pure. A code that isn't known here counts as `uncertain`: to take an
// appended batch for a refused one would let its sequence numbers be used again, and the broker would drop the next batch as a repeat.

/**
 * - `stale`: not this leader, or no leader yet: ask again who leads, and send there.
 * - `missing`: the broker doesn't know the topic or the partition.
 * - `busy`: refused for now, nothing was written.
 * - `throttled`: over a quota, nothing was written.
 * - `uncertain`: it may have been written.
 * - `repeat`: the broker has seen these sequence numbers already.
 * - `spent`: the producer's id or epoch is of no use any more.
 * - `tooLarge`: a record, or the sum, is above the topic's limit.
 * - `badRecord`: one or more records were refused, and with them the batch.
 * - `topicRefused`: nothing will ever be accepted under that name.
 * - `forbidden`: a right is missing, somebody may grant it.
 */
export type Finding =
  | 'accepted'
  | 'stale'
  | 'missing'
  | 'busy'
  | 'throttled'
  | 'uncertain'
  | 'repeat'
  | 'spent'
  | 'tooLarge'
  | 'badRecord'
  | 'topicRefused'
  | 'forbidden'

const codes: Readonly<Record<number, readonly [name: string, finding: Finding]>> = {
  [-1]: ['UNKNOWN_SERVER_ERROR', 'uncertain'],
  0: ['NONE', 'accepted'],
  2: ['CORRUPT_MESSAGE', 'badRecord'],
  3: ['UNKNOWN_TOPIC_OR_PARTITION', 'missing'],
  5: ['LEADER_NOT_AVAILABLE', 'stale'],
  6: ['NOT_LEADER_OR_FOLLOWER', 'stale'],
  7: ['REQUEST_TIMED_OUT', 'uncertain'],
  8: ['BROKER_NOT_AVAILABLE', 'stale'],
  9: ['REPLICA_NOT_AVAILABLE', 'stale'],
  10: ['MESSAGE_TOO_LARGE', 'tooLarge'],
  13: ['NETWORK_EXCEPTION', 'uncertain'],
  14: ['COORDINATOR_LOAD_IN_PROGRESS', 'busy'],
  15: ['COORDINATOR_NOT_AVAILABLE', 'busy'],
  16: ['NOT_COORDINATOR', 'busy'],
  17: ['INVALID_TOPIC_EXCEPTION', 'topicRefused'],
  18: ['RECORD_LIST_TOO_LARGE', 'tooLarge'],
  19: ['NOT_ENOUGH_REPLICAS', 'busy'],
  20: ['NOT_ENOUGH_REPLICAS_AFTER_APPEND', 'uncertain'],
  29: ['TOPIC_AUTHORIZATION_FAILED', 'forbidden'],
  31: ['CLUSTER_AUTHORIZATION_FAILED', 'forbidden'],
  32: ['INVALID_TIMESTAMP', 'badRecord'],
  41: ['NOT_CONTROLLER', 'busy'],
  43: ['UNSUPPORTED_FOR_MESSAGE_FORMAT', 'topicRefused'],
  44: ['POLICY_VIOLATION', 'forbidden'],
  45: ['OUT_OF_ORDER_SEQUENCE_NUMBER', 'spent'],
  46: ['DUPLICATE_SEQUENCE_NUMBER', 'repeat'],
  47: ['INVALID_PRODUCER_EPOCH', 'spent'],
  49: ['INVALID_PRODUCER_ID_MAPPING', 'spent'],
  56: ['KAFKA_STORAGE_ERROR', 'uncertain'],
  59: ['UNKNOWN_PRODUCER_ID', 'spent'],
  74: ['FENCED_LEADER_EPOCH', 'stale'],
  75: ['UNKNOWN_LEADER_EPOCH', 'stale'],
  76: ['UNSUPPORTED_COMPRESSION_TYPE', 'forbidden'],
  87: ['INVALID_RECORD', 'badRecord'],
  89: ['THROTTLING_QUOTA_EXCEEDED', 'throttled'],
  90: ['PRODUCER_FENCED', 'spent'],
  100: ['UNKNOWN_TOPIC_ID', 'missing'],
}

export function findingOf(errorCode: number): Finding {
  return codes[errorCode]?.[1] ?? 'uncertain'
}

/** Kafka's name of an error code: `MESSAGE_TOO_LARGE`; `KAFKA_133` for one that isn't known here. */
export function nameOf(errorCode: number): string {
  return codes[errorCode]?.[0] ?? `KAFKA_${errorCode}`
}
