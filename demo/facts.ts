// What the conductor knows from what the roles said. It paces the faults by it and prints it; the figures at the end are the judge's.
import type { Side } from './queries.ts'
import type { FromBilling, FromRelay, FromShop } from './talk.ts'

export class Facts {
  /** Orders through with, by the ids; `committed` with the time by the process's clock. */
  readonly committed = new Map<string, number>()
  readonly rolledBack: Record<Side, Set<string>> = { outrider: new Set(), naive: new Set() }
  readonly delivered = new Set<string>()
  readonly naiveSent = new Set<string>()
  naiveGivenUp = 0
  refusals = 0
  sessionsLost = 0
  relaysReady = 0
  relaysStarted = 0
  relaysStopped = 0
  /** Why the relay can't go on by itself. */
  relayFailure: string | null = null
  /** Ids of messages of the relay that stands still before its settlement. */
  inFlight: readonly string[] = []
  /** Event ids that the relay now running delivered, in order. */
  relayDelivered: { readonly id: string; readonly order: string }[] = []
  readonly handled: Record<Side, Set<string>> = { outrider: new Set(), naive: new Set() }
  handledTwice = 0
  duplicates = 0
  shopsReady = 0
  readonly shopsDone = new Set<Side>()
  readonly caught: Record<Side, string[]> = { outrider: [], naive: [] }
  readonly #undelivered = new Map<string, number>()
  readonly #watchers = new Set<() => void>()

  /** Orders that the shop is through with. */
  get orders(): number {
    return this.committed.size + this.rolledBack.outrider.size
  }

  /** Age of the oldest committed order whose event is not delivered, in milliseconds. */
  lagMs(nowMs: number): number {
    const [oldest] = this.#undelivered.values()
    return oldest === undefined ? 0 : nowMs - oldest
  }

  fromShop(side: Side, message: FromShop): void {
    switch (message.is) {
      case 'order':
        if (message.outcome === 'rolled back') this.rolledBack[side].add(message.id)
        else if (side === 'outrider') {
          this.committed.set(message.id, performance.now())
          if (!this.delivered.has(message.id)) this.#undelivered.set(message.id, performance.now())
        }
        break
      case 'sent':
        if (message.arrived) this.naiveSent.add(message.id)
        else this.naiveGivenUp++
        break
      case 'caught':
        this.caught[side].push(message.at)
        break
      case 'ready':
        this.shopsReady++
        break
      case 'done':
        this.shopsDone.add(side)
    }
    this.#changed()
  }

  fromRelay(message: FromRelay): void {
    switch (message.is) {
      case 'delivered':
        for (const [i, order] of message.orders.entries()) {
          this.delivered.add(order)
          this.#undelivered.delete(order)
          this.relayDelivered.push({ id: message.ids[i] ?? '', order })
        }
        break
      case 'refused':
        this.refusals += message.messages
        break
      case 'holding':
        this.inFlight = message.ids
        break
      case 'session lost':
        this.sessionsLost++
        break
      case 'ready':
        this.relaysReady++
        break
      case 'started':
        this.relaysStarted++
        break
      case 'stopped':
        this.relaysStopped++
        break
      case 'failed':
        this.relayFailure ??= message.reason
    }
    this.#changed()
  }

  fromBilling({ side, id, times, outcome }: FromBilling): void {
    this.handled[side].add(id)
    if (times === 2) this.handledTwice++
    if (outcome === 'duplicate') this.duplicates++
    this.#changed()
  }

  /** Whether `condition` came true within `longestMs`; looked at after each message. */
  until(condition: () => boolean, longestMs: number): Promise<boolean> {
    if (condition()) return Promise.resolve(true)
    return new Promise((resolve) => {
      const end = (answer: boolean): void => {
        clearTimeout(timer)
        this.#watchers.delete(look)
        resolve(answer)
      }
      const look = (): void => {
        if (condition()) end(true)
      }
      const timer = setTimeout(end, longestMs, false)
      this.#watchers.add(look)
    })
  }

  #changed(): void {
    for (const look of this.#watchers) look()
  }
}
