import type { RefusalClass } from './verdict.ts'

/**
 * Everything that happens in a relay, in one catalogue. Logs, metrics, traces and alerts subscribe to it; nothing else instruments.
 * Numbers carry their unit in the name.
 */
export interface Catalogue {
  'relay.started': { readonly relay: string; readonly lanes: number; readonly source: string; readonly publisher: string }
  'relay.stopped': { readonly relay: string; readonly unsettled: number }
  /** The relay can't go on by itself: the error names what to mend. */
  'relay.failed': { readonly relay: string; readonly error: Error }
  'lane.acquired': { readonly lane: number; readonly token: bigint }
  'lane.released': { readonly lane: number }
  /** Another relay holds the lane now, or its lease could not be renewed; what was in flight for it counts for nothing. */
  'lane.lost': { readonly lane: number; readonly inFlight: number; readonly reason: 'token' | 'lease' | 'source' }
  /** The fence of a lane moved on and is stored. */
  'lane.fenced': { readonly lane: number; readonly reason: 'acquired' | 'unknown' }
  /** The fence could not be moved on; nothing is published for the lane before it is. */
  'fence.failed': { readonly lane: number; readonly error: Error; readonly retryInMs: number }
  /** A publish was not begun because the lease would not outlive it. */
  'lane.stale': { readonly lane: number; readonly leftMs: number }
  'source.opened': { readonly source: string; readonly lanes: number }
  'source.lost': { readonly source: string; readonly error: Error; readonly retryInMs: number }
  'read.done': { readonly messages: number; readonly bytes: number; readonly late: number; readonly ms: number }
  /** Open numbers: not visible yet, or not known to be dead. */
  'gap.opened': { readonly lo: bigint; readonly hi: bigint }
  'gap.found': { readonly seq: bigint; readonly ageMs: number }
  'gap.dead': { readonly lo: bigint; readonly hi: bigint; readonly ageMs: number }
  'publish.started': { readonly lane: number; readonly group: string; readonly messages: number }
  'publish.done': {
    readonly lane: number
    readonly group: string
    readonly messages: number
    readonly refused: number
    readonly ms: number
  }
  'publish.unknown': { readonly lane: number; readonly group: string; readonly messages: number; readonly error: Error }
  /** The publisher broke its contract: messages were accepted although an earlier one of the same topic and key was refused. */
  'publish.disordered': { readonly lane: number; readonly group: string; readonly messages: number }
  'message.refused': {
    readonly id: string
    readonly seq: bigint
    readonly lane: number
    readonly topic: string
    readonly class: RefusalClass
    readonly code: string
    readonly detail: string
    readonly attempt: number
    readonly retryInMs: number
  }
  /** The message can't be delivered as it is; its key waits behind it. */
  'message.failed': {
    readonly id: string
    readonly seq: bigint
    readonly lane: number
    readonly topic: string
    readonly class: RefusalClass
    readonly code: string
    readonly detail: string
    readonly attempt: number
  }
  'settle.done': { readonly messages: number; readonly lost: number; readonly ms: number }
}

export type EventName = keyof Catalogue
/** One event of the catalogue: its name and its facts. */
export type RelayEvent = { [N in EventName]: { readonly name: N } & Catalogue[N] }[EventName]

/** Passes an event to whoever subscribed. Never throws. */
export type Report = (event: RelayEvent) => void
/** What a subscriber is. An error that it throws is swallowed: watching must not disturb. */
export type Subscriber = (event: RelayEvent) => void
