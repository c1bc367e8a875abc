// A relay as a process, so that it can be killed and stopped. Says all the time what it has in hand.
import { kafka } from '../src/brokers/kafka/index.ts'
import { isOutriderError } from '../src/core/index.ts'
import { LogSource } from '../src/databases/postgres/log/log-source.ts'
import { createRelay, type PausePoint } from '../src/relay/index.ts'
import { safetiesOf, windowFirst, withoutEpochs } from './breaks.ts'
import { ownRole } from './role.ts'
import type { RelayTalk } from './talk.ts'

let held: PausePoint | null = null
let goOn: () => void = () => undefined
const { task, tell } = ownRole<RelayTalk>((order) => {
  held = order.do === 'hold' ? order.at : null
  goOn()
})
// The wall clock of the whole process is off, that of every library in it included.
const { now } = Date
Date.now = () => now() + task.clockOffMs

const source = new LogSource({
  connection: { connectionString: task.databaseUrl },
  pollMs: 100,
  timeoutMs: 4_000,
  safeties: safetiesOf(task.broken),
})
const publisher = kafka({ brokers: task.brokers, publishTimeoutMs: task.publishTimeoutMs })
const relay = createRelay({
  source: task.broken === 'order' ? windowFirst(source) : source,
  publisher: task.broken === 'epoch' ? withoutEpochs(publisher) : publisher,
  leaseMs: task.leaseMs,
  pauses(point, messages) {
    if (held !== point || messages.length === 0) return
    void tell({ is: 'held', at: point })
    return new Promise((resolve) => {
      goOn = resolve
    })
  },
})

const lanes = new Set<number>()
let atBroker = 0
let confirmed = 0
let settled = 0
let lost = 0
const report = (): void =>
  void tell({ is: 'state', lanes: lanes.size, inFlight: atBroker + confirmed, settled, lost, rssBytes: process.memoryUsage.rss() })

relay.subscribe((event) => {
  switch (event.name) {
    case 'lane.acquired':
      lanes.add(event.lane)
      break
    case 'lane.lost':
      lost++
      lanes.delete(event.lane)
      break
    case 'lane.released':
      lanes.delete(event.lane)
      break
    case 'publish.started':
      atBroker += event.messages
      break
    case 'publish.done':
      atBroker -= event.messages
      confirmed += event.messages - event.refused
      break
    case 'settle.done':
      // What was confirmed for a lane that was lost is never settled.
      confirmed = Math.max(0, confirmed - event.messages)
      settled += event.messages
      break
    case 'source.lost':
      confirmed = 0
      break
    case 'relay.failed':
      void failed(event.error)
      return
    default:
      return
  }
  report()
})
setInterval(report, 1_000).unref()
process.once('SIGTERM', () => void relay.stop().then(() => process.exit(0)))
await relay.start().catch(failed)

async function failed(error: unknown): Promise<void> {
  await tell({ is: 'failed', text: String(error), retryable: isOutriderError(error) && error.retryable })
  process.exit(1)
}
