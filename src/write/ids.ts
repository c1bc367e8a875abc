/** What an id is made of. */
export interface IdParts {
  /** Milliseconds since 1970. */
  readonly nowMs: () => number
  /** Fills the array with random bytes. */
  readonly fill: (bytes: Uint8Array<ArrayBuffer>) => void
}

/** Bytes of randomness fetched at once; 10 are used for an id. */
const poolBytes = 5000
const maxCounter = 0xfff

/**
 * Makes UUIDs of version 7: milliseconds, a counter of 12 bits, 62 random bits. Within the process each is greater than the one before,
 * also when the clock stands still or goes back: a full counter borrows from the next millisecond. Ids never give order; that is `seq`.
 * Source: RFC 9562, sections 5.7 and 6.2 (method 1).
 */
export function createIds({ nowMs, fill }: IdParts): () => string {
  let pool: Uint8Array<ArrayBuffer> | null = null
  let used = poolBytes
  let lastMs = -1
  let counter = 0
  return () => {
    pool ??= new Uint8Array(poolBytes)
    if (used + 10 > poolBytes) {
      fill(pool)
      used = 0
    }
    const random = pool.subarray(used, used + 10)
    used += 10
    const ms = Math.floor(nowMs())
    if (ms > lastMs || counter === maxCounter) {
      lastMs = Math.max(ms, lastMs + 1)
      // Starts in the lower half, so that there is room to count.
      counter = (((random[8] ?? 0) & 0x7) << 8) | (random[9] ?? 0)
    } else counter += 1
    const time = lastMs.toString(16).padStart(12, '0')
    let tail = ''
    for (let i = 0; i < 8; i++) {
      const byte = random[i] ?? 0
      tail += (i === 0 ? (byte & 0x3f) | 0x80 : byte).toString(16).padStart(2, '0')
    }
    const count = counter.toString(16).padStart(3, '0')
    return `${time.slice(0, 8)}-${time.slice(8)}-7${count}-${tail.slice(0, 4)}-${tail.slice(4)}`
  }
}

/** Ids by the wall clock and Web Crypto. */
export const newId: () => string = createIds({ nowMs: Date.now, fill: (bytes) => void crypto.getRandomValues(bytes) })
