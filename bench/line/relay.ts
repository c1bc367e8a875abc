// Outrider: the relay between the real source and the real publisher.
import { kafka } from '../../src/brokers/kafka/index.ts'
import { postgres } from '../../src/databases/postgres/index.ts'
import { createRelay } from '../../src/relay/index.ts'
import { report, stopwatch, taskOf } from './contestant.ts'

const task = taskOf(process.argv)
const relay = createRelay({ source: postgres({ url: task.database }), publisher: kafka({ brokers: task.brokers }) })
let stop: ReturnType<typeof stopwatch> | null = null
let settled = 0
const { promise: done, resolve } = Promise.withResolvers<void>()
relay.subscribe((event) => {
  // The clock starts when the lanes are held, as a bare script's does when it is connected.
  if (event.name === 'lane.fenced') stop ??= stopwatch()
  if (event.name === 'message.refused' || event.name === 'message.failed' || event.name === 'source.lost' || event.name === 'relay.failed')
    console.error(event)
  if (event.name !== 'settle.done') return
  settled += event.messages
  if (settled >= task.events) resolve()
})
await relay.start()
await done
const measured = stop!(settled)
await relay.stop()
report(measured)
