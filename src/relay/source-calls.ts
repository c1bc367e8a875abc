import type { Grant, Lag, Message, ReadRequest, Settlement, Source } from '../core/index.ts'

/**
 * All that the relay asks of the source while it is open. A failure is told to the session first; whoever called gets it
 * too, and has nothing more to do than to end.
 */
export class SourceCalls {
  readonly #source: Source
  readonly #failed: (error: unknown) => void
  readonly #running = new Set<Promise<unknown>>()

  constructor(source: Source, failed: (error: unknown) => void) {
    this.#source = source
    this.#failed = failed
  }

  read(request: ReadRequest): Promise<Message[]> {
    return this.#run(() => this.#source.read(request))
  }

  settle(settlements: readonly Settlement[]): Promise<{ readonly lost: readonly number[] }> {
    return this.#run(() => this.#source.settle(settlements))
  }

  storeFence(lane: number, fence: Uint8Array): Promise<boolean> {
    return this.#run(() => this.#source.storeFence(lane, fence))
  }

  acquire(request: { readonly leaseMs: number; readonly max: number }): Promise<readonly Grant[]> {
    return this.#run(() => this.#source.ownership.acquire(request))
  }

  renew(leaseMs: number): Promise<{ readonly lost: readonly number[] }> {
    return this.#run(() => this.#source.ownership.renew({ leaseMs }))
  }

  release(lanes: readonly number[]): Promise<void> {
    return this.#run(() => this.#source.ownership.release(lanes))
  }

  lag(): Promise<Lag> {
    return this.#run(() => this.#source.lag())
  }

  /** Resolves when the calls that run now have ended. */
  async ended(): Promise<void> {
    await Promise.allSettled(this.#running)
  }

  async #run<T>(call: () => Promise<T>): Promise<T> {
    let running: Promise<T> | null = null
    try {
      running = call()
      this.#running.add(running)
      return await running
    } catch (error) {
      this.#failed(error)
      throw error
    } finally {
      if (running !== null) this.#running.delete(running)
    }
  }
}
