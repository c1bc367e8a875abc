// The time that one call has: a deadline, the caller's signal, and one promise for both, so that nothing on the way can wait for ever.
import type { Clock } from '../../core/index.ts'

/** A reason of one's own: without one, each abort makes an error with a stack. */
const ended = 'the call ended'

export class Call {
  readonly deadlineMs: number
  readonly #clock: Clock
  readonly #ending = new AbortController()
  readonly #signal: AbortSignal
  readonly #abort = (): void => this.#stop()
  /** Resolves when the time is up, when the caller gives up, or when the call ends. */
  readonly stopped: Promise<void>
  #stop: () => void = () => {}

  constructor(clock: Clock, timeoutMs: number, signal: AbortSignal) {
    this.#clock = clock
    this.#signal = signal
    this.deadlineMs = clock.monotonicMs() + timeoutMs
    this.stopped = new Promise((resolve) => (this.#stop = resolve))
    signal.addEventListener('abort', this.#abort, { once: true })
    if (signal.aborted) this.#stop()
    else void clock.sleep(timeoutMs, this.#ending.signal).then(() => this.#stop())
  }

  get leftMs(): number {
    return Math.max(0, this.deadlineMs - this.#clock.monotonicMs())
  }

  get isAborted(): boolean {
    return this.#signal.aborted
  }

  /** What `work` comes to, or `null` when the call's time is up before. A later failure of `work` is swallowed. */
  async within<T>(work: Promise<T>): Promise<{ readonly value: T } | null> {
    work.catch(() => {})
    return Promise.race([work.then((value) => ({ value })), this.stopped.then(() => null)])
  }

  /** Resolves after `ms` or when the call's time is up. */
  async pause(ms: number): Promise<void> {
    if (this.isAborted || this.leftMs === 0) return
    await Promise.race([this.#clock.sleep(Math.min(ms, this.leftMs), this.#ending.signal), this.stopped])
  }

  end(): void {
    this.#signal.removeEventListener('abort', this.#abort)
    this.#ending.abort(ended)
    this.#stop()
  }
}
