// The wire by @platformatic/kafka's low-level calls: it keeps protocol, TLS, SASL and compression; sequences, epochs, what is in flight and every
// verdict are the publisher's. Its high-level producer isn't used: it takes a new producer id and sends again by itself.
import { isIP } from 'node:net'
import type { Connection as KafkaConnection, ConnectionOptions, MessageRecord } from '@platformatic/kafka'
import { OutriderError } from '../../core/index.ts'
import type { Compression, SaslOptions, TlsOptions } from './option-types.ts'
import { NotSent, textOfAddress } from './wire.ts'
import type { Address, Link, MetadataAnswer, ProduceAnswer, ProduceRequest, Wire } from './wire.ts'

type Library = typeof import('@platformatic/kafka')
type ProduceResponse = Exclude<Awaited<ReturnType<Library['produceV11']['api']['async']>>, boolean>
type MetadataResponse = Awaited<ReturnType<Library['metadataV12']['api']['async']>>
type ProducerIdResponse = Awaited<ReturnType<Library['initProducerIdV5']['api']['async']>>

export interface DriverOptions {
  readonly clientId: string
  readonly tls: TlsOptions | null
  readonly sasl: SaslOptions | null
  readonly compression: Compression
  readonly requestTimeoutMs: number
}

const TOPIC_RESOURCE = 2
const ALL_REPLICAS = -1

/**
 * Loads the library at the first connection, not before.
 *
 * @param reach where a broker's address is reached from here, when it isn't the address itself
 */
export function createWire(options: DriverOptions, reach: (address: Address) => Address = (address) => address): Wire {
  let library: Promise<Library> | null = null
  return {
    async connect(address, timeoutMs, signal) {
      library ??= load()
      return open(await library, address, reach(address), options, timeoutMs, signal)
    },
  }
}

async function load(): Promise<Library> {
  try {
    return await import('@platformatic/kafka')
  } catch (cause) {
    throw new OutriderError(
      'DRIVER_MISSING',
      `The Kafka publisher needs the package @platformatic/kafka, which could not be loaded. Nothing was sent.`,
      {
        hint: 'npm install @platformatic/kafka@2.12',
        cause,
      },
    )
  }
}

async function open(
  library: Library,
  address: Address,
  at: Address,
  options: DriverOptions,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Link> {
  const settings: ConnectionOptions = {
    connectTimeout: timeoutMs,
    requestTimeout: options.requestTimeoutMs,
    // What is in flight is bounded by the streams; a queue here would only hide that a request wasn't written yet.
    maxInflights: 1_000_000,
    ...(options.tls === null ? {} : { tls: options.tls, tlsServerName: options.tls.servername ?? isIP(address.host) === 0 }),
    ...(options.sasl === null ? {} : { sasl: options.sasl }),
  }
  const connection = new library.Connection(options.clientId, settings)
  // Without listeners an error would end the process; it reaches the requests in flight, and the next one finds the link closed.
  connection.on('error', () => {})
  await new Promise<void>((resolve, reject) => {
    const abort = (): void => {
      reject(new NotSent(`connecting to ${textOfAddress(address)} was given up`))
      end(connection)
    }
    if (signal.aborted) return abort()
    signal.addEventListener('abort', abort, { once: true })
    const done = (error?: Error | null): void => {
      signal.removeEventListener('abort', abort)
      if (error) {
        reject(error)
        end(connection)
      } else resolve()
    }
    try {
      void connection.connect(at.host, at.port, done)
      connection.socket.on('error', () => {})
    } catch (error) {
      done(error instanceof Error ? error : new Error(String(error)))
    }
  })
  return new DriverLink(library, connection, address, options.compression)
}

/** Ends at once, without waiting for what is still to be written; the event frees whoever waits for `connect`. */
function end(connection: KafkaConnection): void {
  // While nothing is connected there is no socket yet, whatever the type says.
  const socket: KafkaConnection['socket'] | undefined = connection.socket
  socket?.destroy()
  connection.emit('close')
}

class DriverLink implements Link {
  readonly address: Address
  readonly #library: Library
  readonly #connection: KafkaConnection
  readonly #compression: Compression
  #destroyed = false

  constructor(library: Library, connection: KafkaConnection, address: Address, compression: Compression) {
    this.#library = library
    this.#connection = connection
    this.#compression = compression
    this.address = address
  }

  get isOpen(): boolean {
    // During SASL re-authentication the connection isn't `connected`, but it takes requests.
    const status = this.#connection.status
    return !this.#destroyed && (status === 'connected' || status === 'reauthenticating') && !this.#connection.socket.destroyed
  }

  async produce(request: ProduceRequest): Promise<ProduceAnswer> {
    this.#mustBeOpen()
    const { topic, partition } = request
    const sequences = new this.#library.NumericMap()
    sequences.set(`${topic}:${partition}`, request.sequence)
    let answer: ProduceResponse | boolean
    try {
      // The library's type doesn't know tombstones; its encoder does.
      answer = await this.#library.produceV11.api.async(
        this.#connection,
        ALL_REPLICAS,
        request.timeoutMs,
        request.records as unknown as MessageRecord[],
        {
          producerId: request.producerId,
          producerEpoch: request.epoch,
          sequences,
          compression: this.#compression,
        },
      )
    } catch (error) {
      const response = responseIn(error) as ProduceResponse | null
      if (response === null) throw isBeforeSending(error) ? new NotSent(messageOf(error), { cause: error }) : error
      answer = response
    }
    const found =
      typeof answer === 'boolean'
        ? undefined
        : answer.responses.find((one) => one.name === topic)?.partitionResponses.find((one) => one.index === partition)
    if (found === undefined || typeof answer === 'boolean') throw new Error(`the answer says nothing about ${topic}/${partition}`)
    return {
      errorCode: found.errorCode,
      errorMessage: found.errorMessage ?? null,
      baseOffset: found.baseOffset,
      recordErrors: (found.recordErrors ?? []).map((one) => ({ index: one.batchIndex, message: one.batchIndexErrorMessage ?? null })),
      throttleMs: answer.throttleTimeMs,
    }
  }

  async metadata(topics: readonly string[]): Promise<MetadataAnswer> {
    this.#mustBeOpen()
    let answer: MetadataResponse
    try {
      answer = await this.#library.metadataV12.api.async(this.#connection, [...topics], false)
    } catch (error) {
      const response = responseIn(error) as MetadataResponse | null
      if (response === null) throw error
      answer = response
    }
    return {
      clusterId: answer.clusterId ?? null,
      brokers: answer.brokers,
      topics: answer.topics.map((topic) => ({
        name: topic.name ?? '',
        errorCode: topic.errorCode,
        partitions: topic.partitions.map((one) => ({ index: one.partitionIndex, errorCode: one.errorCode, leader: one.leaderId })),
      })),
    }
  }

  async initProducerId(): Promise<{ errorCode: number; producerId: bigint }> {
    this.#mustBeOpen()
    try {
      return await this.#library.initProducerIdV5.api.async(this.#connection, null, 60_000, -1n, -1)
    } catch (error) {
      const response = responseIn(error) as ProducerIdResponse | null
      if (response === null) throw error
      return response
    }
  }

  async topicLimit(topic: string): Promise<number | null> {
    this.#mustBeOpen()
    try {
      const answer = await this.#library.describeConfigsV4.api.async(this.#connection, [
        { resourceType: TOPIC_RESOURCE, resourceName: topic, configurationKeys: ['max.message.bytes'] },
      ])
      const value = Number(answer.results[0]?.configs.find((one) => one.name === 'max.message.bytes')?.value)
      return Number.isInteger(value) && value > 0 ? value : null
    } catch (error) {
      // Asking needs a right of its own (DescribeConfigs) that a producer often hasn't.
      if (responseIn(error) !== null) return null
      throw error
    }
  }

  async apiVersions(): Promise<ReadonlyMap<number, { min: number; max: number }>> {
    this.#mustBeOpen()
    const answer = await this.#library.apiVersionsV3.api.async(this.#connection, 'outrider', '1')
    return new Map(answer.apiKeys.map((api) => [api.apiKey, { min: api.minVersion, max: api.maxVersion }]))
  }

  destroy(): void {
    if (this.#destroyed) return
    this.#destroyed = true
    end(this.#connection)
  }

  #mustBeOpen(): void {
    if (!this.isOpen) throw new NotSent(`the connection to ${textOfAddress(this.address)} is closed`)
  }
}

/** The library throws away nothing: an answer with an error code in it hangs on the error that it throws. */
function responseIn(error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error) || error.code !== 'PLT_KFK_RESPONSE' || !('response' in error)) return null
  return error.response ?? null
}

function isBeforeSending(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'PLT_KFK_UNSUPPORTED_COMPRESSION' || error.code === 'PLT_KFK_USER')
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
