// What the conductor and the roles say to each other. Every role is a process of its own; the talk goes over node's IPC channel.
import type { DeliveryFigures } from '../src/testing/checker.ts'
import type { BrokerAddress } from './brokers/broker.ts'
import type { Side } from './queries.ts'

export interface Place {
  readonly databaseUrl: string
  readonly broker: BrokerAddress
  readonly topics: Readonly<Record<Side, string>>
}

/** What a shop has to do. */
export interface ShopTask extends Place {
  /** Pause between two orders, in milliseconds. */
  readonly paceMs: number
}
/** What a shop learns when it opens. */
export interface Opening {
  /** When the first order of the file comes in, milliseconds since 1970. */
  readonly firstAtMs: number
  /** Ids of orders that need no second try: they ended in ROLLBACK. Those in the table are found there. */
  readonly rolledBack: readonly string[]
  /** Place in the file of the first order that has to wait. */
  readonly upTo: number
}
export interface RelayTask extends Place {
  readonly leaseMs: number
  readonly publishTimeoutMs: number
}

/** Where a shop stopped, waiting to be killed. */
export type CaughtAt = 'before COMMIT' | 'after COMMIT' | 'between COMMIT and send'

export type FromShop =
  | { readonly is: 'ready' }
  | { readonly is: 'order'; readonly id: string; readonly outcome: 'committed' | 'rolled back' }
  | { readonly is: 'sent'; readonly id: string; readonly arrived: boolean }
  | { readonly is: 'caught'; readonly at: CaughtAt; readonly id: string }
  | { readonly is: 'done' }
export type ToShop =
  | ({ readonly do: 'open' } & Opening)
  | { readonly do: 'go on'; readonly upTo: number }
  /** Stand still at the next chance, to be killed. */
  | { readonly do: 'catch' }

export type FromRelay =
  | { readonly is: 'ready' }
  | { readonly is: 'started' }
  /** The broker confirmed these: event ids, and the orders in them. */
  | { readonly is: 'delivered'; readonly ids: readonly string[]; readonly orders: readonly string[] }
  | { readonly is: 'refused'; readonly messages: number }
  /** Confirmed by the broker and not settled, with the relay stopped before the settlement. */
  | { readonly is: 'holding'; readonly ids: readonly string[] }
  | { readonly is: 'session lost' }
  | { readonly is: 'stopped' }
  | { readonly is: 'failed'; readonly reason: string }
export type ToRelay = { readonly do: 'start' } | { readonly do: 'hold' } | { readonly do: 'stop' }

export type FromBilling = {
  readonly is: 'handled'
  readonly side: Side
  readonly id: string
  readonly times: 1 | 2
  readonly outcome: 'billed' | 'duplicate'
}
export type ToBilling = { readonly do: 'twice' }

/** The judge's figures of one side. */
export interface SideFigures extends Omit<DeliveryFigures, 'examples'> {
  /** Committed orders that were billed, and those billed more than once. */
  readonly handled: number
  readonly billedTwice: number
  readonly examples: DeliveryFigures['examples']
}
export type FromJudge = { readonly is: 'figures' } & Readonly<Record<Side, SideFigures>>

/** One role: what it has to do, what it says, what it hears. */
interface Talk {
  readonly task: object
  readonly says: object
  readonly hears: object
}
export interface ShopTalk extends Talk {
  readonly task: ShopTask
  readonly says: FromShop
  readonly hears: ToShop
}
export interface RelayTalk extends Talk {
  readonly task: RelayTask
  readonly says: FromRelay
  readonly hears: ToRelay
}
export interface BillingTalk extends Talk {
  readonly task: Place
  readonly says: FromBilling
  readonly hears: ToBilling
}
export interface JudgeTalk extends Talk {
  readonly task: Place
  readonly says: FromJudge
}
export type AnyTalk = ShopTalk | RelayTalk | BillingTalk | JudgeTalk

/** The role's own end of the talk. The role ends with the conductor, whatever ends that one. */
export function role<T extends AnyTalk>(
  onHeard: (message: T['hears']) => void,
): { readonly task: T['task']; readonly tell: (message: T['says']) => Promise<void> } {
  process.on('disconnect', () => process.exit())
  process.on('message', (message) => onHeard(message as T['hears']))
  return {
    task: JSON.parse(process.argv[2] ?? 'null') as T['task'],
    tell: (message) => new Promise((resolve) => process.send?.(message, () => resolve())),
  }
}
