// Another application: handles each message once, through its inbox, whatever happens to its sessions.
import { setTimeout as pause } from 'node:timers/promises'
import type { Client } from 'pg'
import type { TopicRecord } from '../demo/brokers/broker.ts'
import { follow } from '../demo/brokers/kafka-consumer.ts'
import { createInbox } from '../src/inbox/index.ts'
import { ownRole } from './role.ts'
import { eventsIn, handle, isOutage, reconnect } from './shop.ts'
import type { ConsumerTalk } from './talk.ts'

/** Messages of one transaction. */
const mostTogether = 100

const { task, tell } = ownRole<ConsumerTalk>(() => undefined)
const inbox = createInbox({ consumer: 'chaos', events: eventsIn(task.topic) })
const came: TopicRecord[] = []
let wake: () => void = () => undefined

async function receive(): Promise<void> {
  for await (const record of follow(task.brokers, task.topic, new AbortController().signal)) {
    came.push(record)
    wake()
    // What isn't handled yet waits in Kafka.
    while (came.length > 10 * mostTogether) await pause(10)
  }
}

async function work(): Promise<never> {
  let client = await reconnect(task.databaseUrl)
  for (;;) {
    if (came.length === 0) await new Promise<void>((resolve) => (wake = resolve))
    const batch = came.slice(0, mostTogether)
    try {
      await handleAll(client, batch)
      came.splice(0, batch.length)
    } catch (error) {
      // Whether the commit was done or not: the same batch again, and the inbox knows.
      if (!isOutage(error)) throw error
      await client.end().catch(() => undefined)
      client = await reconnect(task.databaseUrl)
    }
  }
}

async function handleAll(client: Client, batch: readonly TopicRecord[]): Promise<void> {
  await client.query('begin')
  for (const record of batch) {
    const message = inbox.read(record)
    if (message.type !== 'Placed') throw new Error(`The topic holds a message that nobody wrote: ${message.type}.`)
    const { key, n } = message.payload
    await inbox.once(client, message, () => client.query(handle, [message.id, key, n]))
  }
  await client.query('commit')
}

await Promise.race([receive(), work()]).catch(async (error: unknown) => {
  await tell({ is: 'failed', text: error instanceof Error ? (error.stack ?? error.message) : String(error) })
})
process.exit(1)
