import { setTimeout as pause } from 'node:timers/promises'
import type { BrokerClients, TopicRecord } from '../broker.ts'
import { LogClient } from './client.ts'
import { embeddedBroker } from './publisher.ts'
import type { WireRecord } from './wire.ts'

const answerTimeoutMs = 2_000

export function embeddedClients(port: number): BrokerClients {
  return {
    publisher: async (publishTimeoutMs) => embeddedBroker(port, publishTimeoutMs),
    async producer() {
      const client = new LogClient(port)
      return {
        async send({ topic, key, value }) {
          const record = { key, value: Buffer.from(value).toString('base64'), headers: {} }
          const answer = await client.ask({ op: 'append', topic, records: [record] }, 1_000)
          if (!answer.ok) throw new Error(`The embedded broker refused the record: ${answer.code}.`)
        },
      }
    },
    async *follow(topic, signal) {
      const client = new LogClient(port)
      try {
        for (let from = 0; !signal.aborted;) {
          const records = await read(client, topic, from).catch(() => null)
          if (records === null) await pause(100, undefined, { signal }).catch(() => undefined)
          for (const record of records ?? []) yield received(record)
          from += records?.length ?? 0
        }
      } finally {
        client.close()
      }
    },
    async readAll(topic) {
      const client = new LogClient(port)
      try {
        const all: TopicRecord[] = []
        for (;;) {
          const records = await read(client, topic, all.length)
          if (records.length === 0) return all
          all.push(...records.map(received))
        }
      } finally {
        client.close()
      }
    },
  }
}

async function read(client: LogClient, topic: string, from: number): Promise<readonly WireRecord[]> {
  const answer = await client.ask({ op: 'read', topic, from }, answerTimeoutMs)
  if (!answer.ok) throw new Error(`The embedded broker refused to read ${topic}: ${answer.code}.`)
  return answer.records ?? []
}

function received({ key, value, headers }: WireRecord): TopicRecord {
  return { partition: 0, key, value: Buffer.from(value ?? '', 'base64'), headers }
}
