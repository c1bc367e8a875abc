import type { Report, Subscriber } from '../core/index.ts'

/** Who watches the relay. */
export class Observers {
  readonly #subscribers = new Set<Subscriber>()

  /** @returns ends the subscription */
  add(subscriber: Subscriber): () => void {
    // A wrapper of its own, so that one function can subscribe twice.
    const own: Subscriber = (event) => subscriber(event)
    this.#subscribers.add(own)
    return () => void this.#subscribers.delete(own)
  }

  readonly report: Report = (event) => {
    for (const subscriber of this.#subscribers) {
      try {
        subscriber(event)
      } catch {
        // Watching must not disturb.
      }
    }
  }
}
