// The open connections, at most one for each broker and slot. Callers that want the same one share one attempt; a broker that just refused isn't asked again at once.
import type { Clock } from '../../core/index.ts'
import { OutriderError, textOf } from '../../core/index.ts'
import { textOfAddress } from './wire.ts'
import type { Address, Link, Wire } from './wire.ts'

const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 1_000

interface Slot {
  link: Link | null
  connecting: Promise<Link> | null
  failure: unknown
  failures: number
  retryAtMs: number
}

export class Links {
  readonly #wire: Wire
  readonly #clock: Clock
  readonly #timeoutMs: number
  readonly #slots = new Map<string, Slot>()
  readonly #closing = new AbortController()

  constructor(wire: Wire, clock: Clock, timeoutMs: number) {
    this.#wire = wire
    this.#clock = clock
    this.#timeoutMs = timeoutMs
  }

  get isClosed(): boolean {
    return this.#closing.signal.aborted
  }

  /** Rejects when the broker can't be reached; nothing was sent then. */
  async get(address: Address, slotNumber: number): Promise<Link> {
    if (this.isClosed) throw new OutriderError('CLOSED', 'The Kafka publisher is closed. Nothing was sent.')
    const key = keyOf(address, slotNumber)
    let slot = this.#slots.get(key)
    if (slot === undefined) {
      slot = { link: null, connecting: null, failure: null, failures: 0, retryAtMs: 0 }
      this.#slots.set(key, slot)
    }
    if (slot.link?.isOpen === true) return slot.link
    if (slot.connecting !== null) return slot.connecting
    if (this.#clock.monotonicMs() < slot.retryAtMs) throw slot.failure
    slot.link = null
    slot.connecting = this.#connect(address, slot)
    return slot.connecting
  }

  /** Ends a connection; the next `get` makes another. */
  drop(address: Address, slotNumber: number): void {
    this.#slots.get(keyOf(address, slotNumber))?.link?.destroy()
  }

  close(): void {
    this.#closing.abort()
    for (const slot of this.#slots.values()) slot.link?.destroy()
    this.#slots.clear()
  }

  async #connect(address: Address, slot: Slot): Promise<Link> {
    try {
      const link = await this.#wire.connect(address, this.#timeoutMs, this.#closing.signal)
      if (this.isClosed) {
        link.destroy()
        throw new OutriderError('CLOSED', 'The Kafka publisher was closed while it connected. Nothing was sent.')
      }
      slot.link = link
      slot.failures = 0
      return link
    } catch (error) {
      slot.failure =
        error instanceof OutriderError
          ? error
          : new OutriderError(
              'BROKER_UNREACHABLE',
              `Kafka at ${textOfAddress(address)} can't be reached: ${reasonOf(error)}. Nothing was sent.`,
              {
                hint: 'Is the broker up, and are the address, TLS and SASL options right?',
                retryable: true,
                cause: error,
              },
            )
      slot.retryAtMs = this.#clock.monotonicMs() + Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** slot.failures)
      slot.failures = Math.min(slot.failures + 1, 16)
      throw slot.failure
    } finally {
      slot.connecting = null
    }
  }
}

function keyOf(address: Address, slotNumber: number): string {
  return `${textOfAddress(address)}#${slotNumber}`
}

/** The innermost cause says why; the outer ones only that it failed. */
function reasonOf(error: unknown): string {
  let at = error
  for (let depth = 0; depth < 5 && at instanceof Error && at.cause !== undefined; depth++) at = at.cause
  // Several addresses of one name that all refused.
  if (at instanceof AggregateError && at.errors.length > 0) at = at.errors[0]
  return textOf(at)
}
