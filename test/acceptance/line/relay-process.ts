// A relay as a process of its own, so that it can be killed at a chosen point.
import { kafka } from '../../../src/brokers/kafka/index.ts'
import { postgres } from '../../../src/databases/postgres/index.ts'
import { createRelay, type PausePoint } from '../../../src/relay/index.ts'
import type { Source } from '../../../src/core/index.ts'

export interface RelayTask {
  readonly database: string
  readonly brokers: readonly string[]
  readonly leaseMs: number
  readonly publishTimeoutMs: number
  readonly batchSize: number
  readonly maxInFlight: number
  /** Broken on purpose: positions move when messages are read, before anything is published. */
  readonly settlesEarly?: boolean
}

export type RelayNews =
  | { readonly kind: 'acquired'; readonly lane: number }
  | { readonly kind: 'paused'; readonly at: PausePoint; readonly messages: number }
  | { readonly kind: 'settled'; readonly messages: number }
  | { readonly kind: 'failed'; readonly text: string }

const task = JSON.parse(process.argv[2]!) as RelayTask
const tell = (news: RelayNews): void => void process.send?.(news)
let armed: PausePoint | 'none' = 'none'
let goOn: () => void = () => undefined
process.on('message', (point) => {
  armed = point as PausePoint | 'none'
  goOn()
})
const source = postgres({ url: task.database, pollMs: 100 })
const relay = createRelay({
  source: task.settlesEarly === true ? settlingEarly(source) : source,
  publisher: kafka({ brokers: task.brokers, publishTimeoutMs: task.publishTimeoutMs }),
  leaseMs: task.leaseMs,
  batchSize: task.batchSize,
  maxInFlight: task.maxInFlight,
  pauses: (point, messages) => {
    if (armed !== point || messages.length === 0) return
    tell({ kind: 'paused', at: point, messages: messages.length })
    return new Promise((resolve) => {
      goOn = resolve
    })
  },
})
relay.subscribe((event) => {
  if (event.name === 'lane.acquired') tell({ kind: 'acquired', lane: event.lane })
  if (event.name === 'settle.done') tell({ kind: 'settled', messages: event.messages })
  if (event.name === 'relay.failed') tell({ kind: 'failed', text: String(event.error) })
})
process.once('SIGTERM', () => void relay.stop().then(() => process.exit(0)))
// The starter is gone: so is the reason to run.
process.once('disconnect', () => process.exit(1))
await relay.start()

function settlingEarly(honest: Source): Source {
  return {
    name: honest.name,
    ownership: honest.ownership,
    open: (context) => honest.open(context),
    async read(request) {
      const messages = await honest.read(request)
      await honest.settle(messages.map((message) => ({ kind: 'delivered', message })))
      return messages
    },
    settle: () => Promise.resolve({ lost: [] }),
    storeFence: (lane, fence) => honest.storeFence(lane, fence),
    lag: () => honest.lag(),
    kick: () => honest.kick(),
    close: () => honest.close(),
  }
}
