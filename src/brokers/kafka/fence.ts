// The lane's identity towards Kafka, as it stands in the lane's row: version 1, cluster id (length, UTF-8), producer id (int64), epoch (int16), big-endian.

export interface LaneIdentity {
  readonly clusterId: string
  readonly producerId: bigint
  readonly epoch: number
}

/** Epochs end at 32,767; Kafka keeps that last one for itself. */
export const LAST_EPOCH = 32_766

const VERSION = 1

export function encodeFence(identity: LaneIdentity): Uint8Array {
  const cluster = Buffer.from(identity.clusterId)
  if (cluster.length > 255) throw new RangeError(`a cluster id of ${cluster.length} bytes doesn't fit into a fence`)
  const bytes = Buffer.alloc(12 + cluster.length)
  bytes.writeUInt8(VERSION, 0)
  bytes.writeUInt8(cluster.length, 1)
  cluster.copy(bytes, 2)
  bytes.writeBigInt64BE(identity.producerId, 2 + cluster.length)
  bytes.writeInt16BE(identity.epoch, 10 + cluster.length)
  return bytes
}

/** Null for anything that this version didn't write. */
export function decodeFence(fence: Uint8Array): LaneIdentity | null {
  const bytes = Buffer.from(fence.buffer, fence.byteOffset, fence.byteLength)
  if (bytes.length < 12 || bytes.readUInt8(0) !== VERSION) return null
  const length = bytes.readUInt8(1)
  if (bytes.length !== 12 + length) return null
  const producerId = bytes.readBigInt64BE(2 + length)
  const epoch = bytes.readInt16BE(10 + length)
  if (producerId < 0n || epoch < 0) return null
  return { clusterId: bytes.toString('utf8', 2, 2 + length), producerId, epoch }
}
