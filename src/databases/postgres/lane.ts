/** Bytes that one round of the hash takes. */
const roundBytes = 12
/** Golden ratio and PostgreSQL's own addend: what its hash starts from. */
const start = 0x9e3779b9 + 3923095
const encoder = new TextEncoder()

/**
 * The lane of a key, equal to `(hashtextextended(text collate "C", 0) & 2147483647) % lanes` in PostgreSQL:
 * the same event has the same lane wherever it is computed.
 *
 * @param text the row's key, else its aggregate's id, else its own id
 * @param lanes number of lanes, 1 or more
 */
export function laneOf(text: string, lanes: number): number {
  return (hashLow(encoder.encode(text)) & 0x7fffffff) % lanes
}

function rotate(x: number, bits: number): number {
  return (x << bits) | (x >>> (32 - bits))
}

/**
 * The low 32 bits of PostgreSQL's `hash_bytes_extended(bytes, 0)`.
 * Source: B. Jenkins, "lookup3.c" (2006), as in PostgreSQL's src/common/hashfn.c, on a little-endian machine.
 */
function hashLow(bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let a = (start + bytes.length) | 0
  let b = a
  let c = a
  let at = 0
  for (; bytes.length - at >= roundBytes; at += roundBytes) {
    a = (a + view.getUint32(at, true)) | 0
    b = (b + view.getUint32(at + 4, true)) | 0
    c = (c + view.getUint32(at + 8, true)) | 0
    a = ((a - c) | 0) ^ rotate(c, 4)
    c = (c + b) | 0
    b = ((b - a) | 0) ^ rotate(a, 6)
    a = (a + c) | 0
    c = ((c - b) | 0) ^ rotate(b, 8)
    b = (b + a) | 0
    a = ((a - c) | 0) ^ rotate(c, 16)
    c = (c + b) | 0
    b = ((b - a) | 0) ^ rotate(a, 19)
    a = (a + c) | 0
    c = ((c - b) | 0) ^ rotate(b, 4)
    b = (b + a) | 0
  }
  const left = bytes.length - at
  for (let i = 0; i < left; i++) {
    const byte = bytes[at + i] ?? 0
    if (i < 4) a = (a + (byte << (8 * i))) | 0
    else if (i < 8) b = (b + (byte << (8 * (i - 4)))) | 0
    // The lowest byte of c is reserved for the length.
    else c = (c + (byte << (8 * (i - 7)))) | 0
  }
  c = ((c ^ b) - rotate(b, 14)) | 0
  a = ((a ^ c) - rotate(c, 11)) | 0
  b = ((b ^ a) - rotate(a, 25)) | 0
  c = ((c ^ b) - rotate(b, 16)) | 0
  a = ((a ^ c) - rotate(c, 4)) | 0
  b = ((b ^ a) - rotate(a, 14)) | 0
  c = ((c ^ b) - rotate(b, 24)) | 0
  return c
}
