// Which partition a key belongs to: the Java client's rule, to the bit, so that a topic fed by both keeps the order of its keys.

const scratch = Buffer.allocUnsafe(4096)

/**
 * The partition that the Java client's default partitioner gives a key: murmur2 of the key's bytes, made positive, modulo `partitions`.
 * `''` is a key like any other; a message without a key has no partition of its own.
 * Source: org.apache.kafka.common.utils.Utils.murmur2.
 *
 * @param key text is hashed as UTF-8
 * @param partitions number of partitions of the topic, 1 or more
 */
export function partitionFor(key: string | Uint8Array, partitions: number): number {
  if (!Number.isInteger(partitions) || partitions < 1) throw new RangeError(`partitions must be a whole number from 1, got ${partitions}`)
  return (hashOf(key) & 0x7fffffff) % partitions
}

function hashOf(key: string | Uint8Array): number {
  if (typeof key !== 'string') return murmur2(key, key.length)
  // A UTF-16 unit never takes more than three bytes in UTF-8.
  if (key.length * 3 > scratch.length) {
    const bytes = Buffer.from(key)
    return murmur2(bytes, bytes.length)
  }
  return murmur2(scratch, scratch.write(key))
}

function murmur2(data: Uint8Array, length: number): number {
  const m = 0x5bd1e995
  let hash = 0x9747b28c ^ length
  const whole = length & ~3
  for (let i = 0; i < whole; i += 4) {
    let k = byte(data, i) | (byte(data, i + 1) << 8) | (byte(data, i + 2) << 16) | (byte(data, i + 3) << 24)
    k = Math.imul(k, m)
    k ^= k >>> 24
    k = Math.imul(k, m)
    hash = Math.imul(hash, m) ^ k
  }
  const rest = length - whole
  if (rest > 2) hash ^= byte(data, whole + 2) << 16
  if (rest > 1) hash ^= byte(data, whole + 1) << 8
  if (rest > 0) hash = Math.imul(hash ^ byte(data, whole), m)
  hash ^= hash >>> 13
  hash = Math.imul(hash, m)
  return hash ^ (hash >>> 15)
}

function byte(data: Uint8Array, at: number): number {
  return data[at] ?? 0
}
