// The relay carries what a source hands out to a publisher and settles what was accepted: at least once, in order for each key.
import { randomUUID } from 'node:crypto'
import { backoffMs, isOutriderError, OutriderError } from '../core/index.ts'
import type { RetryPolicy, SourceInfo, Subscriber } from '../core/index.ts'
import { drain } from './drain.ts'
import type { Drained } from './drain.ts'
import { logTo } from './logger.ts'
import { Observers } from './observers.ts'
import { settingsOf } from './options.ts'
import type { RelayOptions, Settings } from './options.ts'
import { Session } from './session.ts'

export type RelayState = 'new' | 'starting' | 'running' | 'stopping' | 'stopped' | 'failed'

export interface Relay {
  readonly state: RelayState
  /** Resolves when the relay has stopped. Rejects when it can't go on by itself, with the error that names what to mend. */
  readonly done: Promise<void>
  /**
   * Resolves when the source is open for the first time; a source that is down is tried for ever. More calls give the same answer.
   *
   * @throws the source's error when reading isn't safe, or CLOSED when the relay was stopped before: a relay runs once
   */
  start(): Promise<void>
  /**
   * Takes nothing more, finishes and settles what is at the broker, gives the lanes back for others to take at once, and closes
   * source and publisher. May be called at any time; the shortest grace counts.
   *
   * @param options `graceMs`: time for what is at the broker. @default 10000
   * @returns `unsettled`: messages that were at the broker and whose outcome is not recorded; they will be sent again
   */
  stop(options?: { readonly graceMs?: number }): Promise<{ readonly unsettled: number }>
  /**
   * Runs until nothing is left or the time is over, then stops: for a schedule that calls it.
   *
   * @param options `maxMs`: time for it all, in milliseconds. @default 50000
   * @returns `delivered` by this relay, and the `backlog` that is left
   */
  drain(options?: { readonly maxMs?: number }): Promise<Drained>
  /** There may be something to read. Never throws. */
  kick(): void
  /** Tells of every event. @returns ends it */
  subscribe(subscriber: Subscriber): () => void
}

/** @throws OutriderError CONFIG_INVALID */
export function createRelay(options: RelayOptions): Relay {
  const observers = new Observers()
  const settings = settingsOf(options)
  if (options.logger !== undefined) observers.add(logTo(options.logger, settings.relayName))
  return new SourceToPublisher(settings, observers)
}

/** A lost source is tried again after at most this. */
const reopen: RetryPolicy = { maxAttempts: 1, firstDelayMs: 100, maxDelayMs: 5000 }
/** A session that lived so long was a healthy one. */
const healthyMs = 10_000
const defaultGraceMs = 10_000
/** For both ends to close: after the grace of a stop, and in any case. */
const closeMs = { afterGrace: 200, most: 5000 }

class SourceToPublisher implements Relay {
  readonly done: Promise<void>
  readonly #settings: Settings
  readonly #observers: Observers
  readonly #started = Promise.withResolvers<void>()
  readonly #finished = Promise.withResolvers<void>()
  readonly #graceOver = Promise.withResolvers<void>()
  readonly #stopAsked = new AbortController()
  readonly #relayId = randomUUID()
  #state: RelayState = 'new'
  #session: Session | null = null
  #draining: Promise<Drained> | null = null
  #hasStarted = false
  #delivered = 0
  #unsettled = 0

  constructor(settings: Settings, observers: Observers) {
    this.#settings = settings
    this.#observers = observers
    this.done = this.#finished.promise
    // Whoever doesn't look at them must not lose the process for it.
    this.done.catch(() => {})
    this.#started.promise.catch(() => {})
  }

  get state(): RelayState {
    return this.#state
  }

  start(): Promise<void> {
    if (this.#state === 'new') {
      this.#state = 'starting'
      void this.#run()
    } else if (this.#state === 'stopping' || this.#state === 'stopped') {
      return Promise.reject(
        new OutriderError(
          'CLOSED',
          `The relay ${this.#settings.relayName} was stopped, and its source and publisher are closed. Nothing was started.`,
          {
            hint: 'A relay runs once: make a new one with createRelay, a new source and a new publisher.',
          },
        ),
      )
    }
    return this.#state === 'failed' ? this.done : this.#started.promise
  }

  async stop({ graceMs = defaultGraceMs }: { readonly graceMs?: number } = {}): Promise<{ readonly unsettled: number }> {
    const isNew = this.#state === 'new'
    if (this.#state !== 'stopped' && this.#state !== 'failed') this.#state = 'stopping'
    const ended = new AbortController()
    if (graceMs <= 0) this.#graceOver.resolve()
    else void this.#settings.clock.sleep(graceMs, ended.signal).then(() => this.#graceOver.resolve())
    this.#stopAsked.abort()
    if (isNew) void this.#run()
    await this.done.catch(() => {})
    ended.abort()
    return { unsettled: this.#unsettled }
  }

  drain({ maxMs = 50_000 }: { readonly maxMs?: number } = {}): Promise<Drained> {
    this.#draining ??= drain({
      clock: this.#settings.clock,
      maxMs,
      start: () => this.start(),
      stop: () => this.stop(),
      session: () => this.#session,
      stopAsked: this.#stopAsked.signal,
      done: this.done,
      delivered: () => this.#delivered,
    })
    // Whoever asked gets the error too.
    this.#draining.catch(() => {})
    return this.#draining
  }

  kick(): void {
    this.#settings.source.kick()
  }

  subscribe(subscriber: Subscriber): () => void {
    return this.#observers.add(subscriber)
  }

  async #run(): Promise<void> {
    const { report } = this.#observers
    const relay = this.#settings.relayName
    let failure: { readonly error: Error } | null = null
    try {
      await this.#keepGoing()
    } catch (thrown) {
      failure = { error: thrown instanceof Error ? thrown : new Error(String(thrown)) }
      this.#state = 'failed'
      report({ name: 'relay.failed', relay, error: failure.error })
    }
    await this.#close()
    if (failure === null) {
      this.#state = 'stopped'
      if (this.#hasStarted) report({ name: 'relay.stopped', relay, unsettled: this.#unsettled })
      this.#started.resolve()
      this.#finished.resolve()
    } else {
      this.#started.reject(failure.error)
      this.#finished.reject(failure.error)
    }
  }

  /** One session after the other until a stop or an error that is final. */
  async #keepGoing(): Promise<void> {
    const { clock, random, source } = this.#settings
    const stopped = new Promise<null>((resolve) => {
      if (this.#stopAsked.signal.aborted) resolve(null)
      else this.#stopAsked.signal.addEventListener('abort', () => resolve(null), { once: true })
    })
    const ready = Promise.race([this.#warmUp(), stopped])
    for (let tries = 0; !this.#stopAsked.signal.aborted; tries++) {
      let error: unknown
      const startedMs = clock.monotonicMs()
      try {
        const info = await this.#open(stopped)
        if (info === null) return
        await ready
        const session = this.#begin(info)
        const broken = await Promise.race([session.broken.then((cause) => ({ cause })), stopped])
        if (broken === null) {
          this.#unsettled = await session.stop(this.#graceOver.promise)
          return
        }
        error = broken.cause
      } catch (thrown) {
        error = thrown
      }
      if (!isOutriderError(error) || !error.retryable) {
        await this.#session?.abandon(Promise.resolve())
        throw error
      }
      if (clock.monotonicMs() - startedMs >= healthyMs) tries = 0
      const retryInMs = backoffMs(tries, reopen, random())
      this.#observers.report({ name: 'source.lost', source: source.name, error, retryInMs })
      await this.#session?.abandon(this.#graceOver.promise)
      this.#session = null
      await clock.sleep(retryInMs, this.#stopAsked.signal)
    }
  }

  /**
   * Loads and connects the publisher before the first lane is held: a lease must not run out meanwhile, and one who stands by must
   * be quick to take over. A broker that is down is no reason to wait for it here.
   */
  async #warmUp(): Promise<void> {
    const { publisher, clock } = this.#settings
    const ended = new AbortController()
    const checking = (async () => await publisher.check())().catch(() => {})
    await Promise.race([checking, clock.sleep(publisher.limits.publishTimeoutMs, ended.signal)])
    ended.abort()
  }

  async #open(stopped: Promise<null>): Promise<SourceInfo | null> {
    const { source, clock, relayName, batchSize, maxInFlight } = this.#settings
    const { report } = this.#observers
    const opening = source.open({ relayId: this.#relayId, relayName, clock, report, batchSize, maxInFlight })
    opening.catch(() => {})
    return await Promise.race([opening, stopped])
  }

  #begin(info: SourceInfo): Session {
    const { source, publisher, relayName } = this.#settings
    const { report } = this.#observers
    const session = new Session(this.#settings, info.lanes, report, (messages) => (this.#delivered += messages))
    this.#session = session
    if (!this.#hasStarted) {
      this.#hasStarted = true
      this.#state = 'running'
      report({ name: 'relay.started', relay: relayName, lanes: info.lanes, source: source.name, publisher: publisher.name })
      this.#started.resolve()
    }
    session.start()
    return session
  }

  async #close(): Promise<void> {
    const { source, publisher, clock } = this.#settings
    const ended = new AbortController()
    const closing = [source, publisher].map(async (plug) => await plug.close())
    const tooLate = this.#graceOver.promise.then(() => clock.sleep(closeMs.afterGrace, ended.signal))
    await Promise.race([Promise.allSettled(closing), tooLate, clock.sleep(closeMs.most, ended.signal)])
    ended.abort()
  }
}
