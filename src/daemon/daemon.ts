// The life of a relay process: start all relays, wait for a signal or a failure, stop within the grace time.
import type { LoadedConfig, RelayPlan } from '../config/load.ts'
import { isOutriderError, textOf, type Clock, type RelayEvent } from '../core/index.ts'
import { reason } from './describe.ts'
import type { Logger } from './logger.ts'

/** The part of a relay that the process needs. */
export interface DaemonRelay {
  /** Rejects when it can't go on by itself; it has reported `relay.failed` then. */
  readonly done: Promise<void>
  start(): Promise<void>
  stop(options: { readonly graceMs: number }): Promise<{ readonly unsettled: number }>
  subscribe(subscriber: (event: RelayEvent) => void): unknown
}

export interface DaemonOptions {
  readonly config: LoadedConfig
  /** Name of the process, for logs and leases. */
  readonly name: string
  readonly makeRelay: (plan: RelayPlan, name: string) => DaemonRelay
  readonly logger: Logger
  readonly clock: Clock
  /** Calls back for each signal to stop; the answer ends that. */
  readonly onStopSignal: (listener: (signal: string) => void) => () => void
  /** Ends the process at once. */
  readonly exit: (code: number) => void
}

export interface DaemonResult {
  /** The signal that ended it, null when a relay failed. */
  readonly signal: string | null
  /** Why a relay could not go on. */
  readonly error: Error | null
  /** Was everything in flight settled within the grace time? */
  readonly clean: boolean
  /** `delivered`: messages that the broker confirmed. `unsettled`: those whose outcome is not recorded, so they will be sent again; null is unknown. */
  readonly relays: readonly { readonly name: string; readonly delivered: number; readonly unsettled: number | null }[]
}

type End = { readonly signal: string } | { readonly error: Error }

/** A stop that hangs beyond the grace time is given up this much later. */
const overtimeMs = 500

/** Resolves when all relays have stopped, or when the grace time is over. */
export async function runDaemon(options: DaemonOptions): Promise<DaemonResult> {
  const { config, logger, clock } = options
  let end!: (how: End) => void
  const ended = new Promise<End>((resolve) => (end = resolve))
  const running = config.relays.map((plan) => new Running(plan, options))
  // Neither a promise nor a signal keeps a process alive.
  const alive = setInterval(() => undefined, 2 ** 30)
  let signals = 0
  const forget = options.onStopSignal((signal) => {
    signals++
    if (signals === 1) {
      logger.say('info', `${signal}: stopping, up to ${config.graceMs} ms for what is in flight; once more to end at once`)
      end({ signal })
    } else if (signals === 2) {
      logger.say('warn', `${signal} once more: ending at once; what is in flight will be sent again`)
      logger.flush()
      options.exit(1)
    }
  })
  try {
    for (const relay of running)
      void relay.run().catch((error: unknown) => end({ error: error instanceof Error ? error : new Error(textOf(error)) }))
    const how = await ended
    const clean = await Promise.race([
      Promise.all(running.map(async (relay) => await relay.stop(config.graceMs))).then((all) => all.every(Boolean)),
      clock.sleep(config.graceMs + overtimeMs).then(() => false),
    ])
    if (!clean) logger.say('warn', 'The grace time is over; what is in flight will be sent again.')
    return {
      signal: 'signal' in how ? how.signal : null,
      error: 'error' in how ? how.error : null,
      clean,
      relays: running.map((relay) => relay.summary()),
    }
  } finally {
    logger.flush()
    forget()
    clearInterval(alive)
  }
}

class Running {
  readonly #relay: DaemonRelay
  readonly #name: string
  readonly #logger: Logger
  readonly #check: () => Promise<void>
  #delivered = 0
  #unsettled: number | null = null

  constructor(plan: RelayPlan, options: DaemonOptions) {
    this.#name = plan.name === null ? options.name : `${options.name}/${plan.name}`
    this.#logger = options.logger
    this.#check = () => plan.options.publisher.check()
    this.#relay = options.makeRelay(plan, this.#name)
    this.#relay.subscribe((event) => {
      this.#logger.event(this.#name, event)
      if (event.name === 'publish.done') this.#delivered += event.messages - event.refused
    })
  }

  /** Rejects when the relay can't go on by itself. A server that is down is no such reason: the relay tries again for ever. */
  async run(): Promise<void> {
    await Promise.all([this.#checkBroker(), this.#relay.start()])
    await this.#relay.done
  }

  /** What only a person can mend at the broker's side, such as a missing driver, would otherwise be tried again without end. */
  async #checkBroker(): Promise<void> {
    try {
      await this.#check()
    } catch (error) {
      if (isOutriderError(error, 'CLOSED')) return
      const isFinal = isOutriderError(error) && !error.retryable && error.code !== 'BROKER_UNREACHABLE'
      const text = error instanceof Error ? reason(error) : textOf(error)
      this.#logger.say(isFinal ? 'error' : 'warn', `${this.#name}: ${text}`, { error })
      if (isFinal) throw error
    }
  }

  /** @returns was everything settled? */
  async stop(graceMs: number): Promise<boolean> {
    try {
      this.#unsettled = (await this.#relay.stop({ graceMs })).unsettled
      return this.#unsettled === 0
    } catch (error) {
      this.#logger.say('warn', `${this.#name}: the stop went wrong: ${textOf(error)}`)
      return false
    }
  }

  summary(): { name: string; delivered: number; unsettled: number | null } {
    return { name: this.#name, delivered: this.#delivered, unsettled: this.#unsettled }
  }
}
