// What the publisher needs of a Kafka connection: five requests and an end. The real one is in driver.ts; tests bring their own for faults that no broker produces on demand.

export interface Address {
  readonly host: string
  readonly port: number
}

/** Opens connections. */
export interface Wire {
  /** Rejects when there is no usable connection after `timeoutMs`, or when `signal` aborts. */
  connect(address: Address, timeoutMs: number, signal: AbortSignal): Promise<Link>
}

/** One connection to one broker. Requests overlap; answers come in any order. */
export interface Link {
  readonly address: Address
  /** False from the moment that the connection is lost or destroyed. */
  readonly isOpen: boolean
  /** Rejects with `NotSent` when not a byte was handed over; with anything else the outcome is unknown. */
  produce(request: ProduceRequest): Promise<ProduceAnswer>
  metadata(topics: readonly string[]): Promise<MetadataAnswer>
  initProducerId(): Promise<{ readonly errorCode: number; readonly producerId: bigint }>
  /** `max.message.bytes` of a topic; null when it may not be asked. */
  topicLimit(topic: string): Promise<number | null>
  /** Lowest and highest version of each API that the broker speaks. */
  apiVersions(): Promise<ReadonlyMap<number, { readonly min: number; readonly max: number }>>
  /** Ends the connection at once; whatever was asked is answered with an error. */
  destroy(): void
}

/** A request that never left: nothing can come of it. */
export class NotSent extends Error {
  override readonly name = 'NotSent'
}

/** What the driver's encoder needs of a map of headers: how many there are, and each in turn. */
export interface RecordHeaders extends Iterable<readonly [name: Buffer, value: Buffer]> {
  readonly size: number
}

/** One record, in the shape that the driver encodes without copying. */
export interface WireRecord {
  readonly topic: string
  readonly partition: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: RecordHeaders
  readonly timestamp: bigint
  /** Bytes on the wire, but for its own length and its place in the batch: see `sizeInBatch`. */
  readonly body: number
}

export interface ProduceRequest {
  readonly topic: string
  readonly partition: number
  readonly records: readonly WireRecord[]
  readonly producerId: bigint
  readonly epoch: number
  /** Sequence number of the first record. */
  readonly sequence: number
  /** How long the broker may wait for its replicas. */
  readonly timeoutMs: number
}

export interface ProduceAnswer {
  /** 0 is success; the numbers are Kafka's. */
  readonly errorCode: number
  readonly errorMessage: string | null
  readonly baseOffset: bigint
  readonly recordErrors: readonly { readonly index: number; readonly message: string | null }[]
  /** The broker won't read from this connection for so long. */
  readonly throttleMs: number
}

export interface MetadataAnswer {
  readonly clusterId: string | null
  readonly brokers: readonly { readonly nodeId: number; readonly host: string; readonly port: number }[]
  readonly topics: readonly {
    readonly name: string
    readonly errorCode: number
    readonly partitions: readonly { readonly index: number; readonly errorCode: number; readonly leader: number }[]
  }[]
}

export function textOfAddress(address: Address): string {
  return address.host.includes(':') ? `[${address.host}]:${address.port}` : `${address.host}:${address.port}`
}
