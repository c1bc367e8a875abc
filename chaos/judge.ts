// Takes no part: reads the business table, the topic from offset 0 and the consumer's table, and compares.
import { setTimeout as pause } from 'node:timers/promises'
import { checkDelivery, type CommittedMessage, type DeliveredRecord } from '../src/testing/checker.ts'
import { readTopic } from '../test/conformance/kafka-topic.ts'
import { ownRole } from './role.ts'
import { handledTimes, placed, reconnect } from './shop.ts'
import type { JudgeTalk } from './talk.ts'

const { task, tell } = ownRole<JudgeTalk>(() => undefined)
const client = await reconnect(task.databaseUrl)
const { rows } = await client.query<{ id: string; key: string; n: string }>(placed)
const committed = rows.map(({ id, key, n }): CommittedMessage => ({ id, key, n: BigInt(n), content: contentOf({ key, n }) }))
const records = (await readTopic(task.brokers, task.topic)).map(({ partition, key, value, headers }): DeliveredRecord => {
  const id = headers.find(([name]) => name === 'eventId')?.[1]?.toString() ?? ''
  const said = JSON.parse(value?.toString() ?? 'null') as { key: string; n: string }
  return { id, key: key?.toString() ?? null, partition, content: contentOf(said) }
})
const figures = checkDelivery(committed, records)
const here = new Set(records.map(({ id }) => id))

let handled = new Map<string, number>()
const endsAtMs = performance.now() + task.patienceMs
for (;;) {
  const { rows: times } = await client.query<{ id: string; times: number }>(handledTimes)
  handled = new Map(times.map((row) => [row.id, row.times]))
  if (handled.size >= here.size || performance.now() > endsAtMs) break
  await pause(100)
}
await client.end()
const known = new Set(committed.map(({ id }) => id))
await tell({
  is: 'figures',
  figures,
  handled: [...handled.keys()].filter((id) => known.has(id)).length,
  handledTwice: [...handled.values()].filter((times) => times > 1).length,
})
process.disconnect()

function contentOf({ key, n }: { readonly key: string; readonly n: string }): string {
  return JSON.stringify([key, n])
}
