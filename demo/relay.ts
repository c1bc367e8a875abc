// The relay's process: `createRelay` as any application would start it, watched by the conductor.
import { createRelay } from '../src/relay/index.ts'
import { postgres } from '../src/databases/postgres/index.ts'
import type { Message, Publisher, Settlement, Source } from '../src/core/index.ts'
import { clientsFor } from './brokers/clients.ts'
import type { OrderPlaced } from './events.ts'
import { role, type RelayTalk, type ToRelay } from './talk.ts'

let isHolding = false
/** Ids that the broker confirmed, and whose settlement has not begun. */
const inFlight = new Set<string>()

const { task, tell } = role<RelayTalk>((message) => void obey(message))
const publisher = await (await clientsFor(task.broker)).publisher(task.publishTimeoutMs)
// Connected by now, it needs no time for that when it takes over. It may as well be away.
await publisher.check().catch(() => undefined)
const relay = createRelay({
  source: held(postgres({ url: task.databaseUrl })),
  publisher: watched(publisher),
  leaseMs: task.leaseMs,
})
relay.subscribe((event) => {
  if (event.name === 'source.lost') void tell({ is: 'session lost' })
  if (event.name === 'publish.unknown') void tell({ is: 'refused', messages: event.messages })
  if (event.name === 'publish.done' && event.refused > 0) void tell({ is: 'refused', messages: event.refused })
  if (event.name === 'relay.failed') void tell({ is: 'failed', reason: String(event.error) })
})
await tell({ is: 'ready' })

async function obey(message: ToRelay): Promise<void> {
  switch (message.do) {
    case 'start':
      await relay.start()
      await tell({ is: 'started' })
      return
    case 'hold':
      isHolding = true
      return
    case 'stop':
      await relay.stop()
      await tell({ is: 'stopped' })
  }
}

/** Stands still before a settlement when asked to: what is killed there has delivered, and nothing knows of it. */
function held(inner: Source): Source {
  const settle = inner.settle.bind(inner)
  return Object.assign(inner, {
    async settle(settlements: readonly Settlement[]) {
      if (isHolding) await new Promise(() => undefined)
      for (const { message } of settlements) inFlight.delete(message.id)
      return settle(settlements)
    },
  })
}

function watched(inner: Publisher): Publisher {
  return {
    name: inner.name,
    order: inner.order,
    limits: inner.limits,
    ...(inner.group === undefined ? {} : { group: (message: Message) => inner.group?.(message) ?? '' }),
    ...(inner.fence === undefined ? {} : { fence: inner.fence }),
    async publish(batch, context) {
      const verdicts = await inner.publish(batch, context)
      const accepted = batch.filter((_, i) => verdicts[i]?.kind === 'accepted')
      for (const { id } of accepted) inFlight.add(id)
      if (accepted.length > 0) await tell({ is: 'delivered', ids: accepted.map(({ id }) => id), orders: accepted.map(orderOf) })
      if (isHolding) await tell({ is: 'holding', ids: [...inFlight] })
      return verdicts
    },
    check: () => inner.check(),
    close: () => inner.close(),
  }
}

function orderOf({ payload }: Message): string {
  return (JSON.parse(Buffer.from(payload ?? []).toString()) as OrderPlaced).orderId
}
