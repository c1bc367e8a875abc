// What the processes of the run say to each other.
import type { PausePoint } from '../src/relay/index.ts'
import type { DeliveryFigures } from '../src/testing/checker.ts'
import type { Break } from './kinds.ts'

export interface Place {
  /** Of the database itself, whatever stands in the relays' way. */
  readonly databaseUrl: string
  readonly brokers: readonly string[]
  readonly topic: string
}

export interface WriterTalk {
  readonly task: Place & { readonly seed: number; readonly writers: number; readonly perSecond: number }
  readonly news:
    | { readonly is: 'written'; readonly transactions: number; readonly kinds: Readonly<Record<string, number>> }
    | { readonly is: 'stopped' }
    | { readonly is: 'failed'; readonly text: string }
  readonly order: { readonly do: 'stop' }
}

export interface RelayTalk {
  readonly task: {
    readonly databaseUrl: string
    readonly brokers: readonly string[]
    readonly leaseMs: number
    readonly publishTimeoutMs: number
    /** How far the wall clock of the process is off. */
    readonly clockOffMs: number
    /** The safety that is switched off. */
    readonly broken: Break | null
  }
  readonly news: RelayState | RelayEnd | { readonly is: 'held'; readonly at: PausePoint }
  /** `hold`: stand still at the next passing of the point; `go on`: no more. */
  readonly order: { readonly do: 'hold'; readonly at: PausePoint } | { readonly do: 'go on' }
}
export interface RelayState {
  readonly is: 'state'
  readonly lanes: number
  /** At the broker, or confirmed by it and not settled. */
  readonly inFlight: number
  /** Since its start. */
  readonly settled: number
  readonly lost: number
  readonly rssBytes: number
}
export interface RelayEnd {
  readonly is: 'failed'
  readonly text: string
  /** To start it again is all that is needed. */
  readonly retryable: boolean
}

export interface ConsumerTalk {
  readonly task: Place
  readonly news: { readonly is: 'failed'; readonly text: string }
  readonly order: never
}

export interface JudgeTalk {
  readonly task: Place & {
    /** How long the consumer may take for what it hasn't handled yet. */
    readonly patienceMs: number
  }
  readonly news: { readonly is: 'figures'; readonly figures: DeliveryFigures; readonly handled: number; readonly handledTwice: number }
  readonly order: never
}
