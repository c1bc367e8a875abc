import { setTimeout as pause } from 'node:timers/promises'
import { Consumer } from '@platformatic/kafka'
import type { TopicRecord } from './broker.ts'

/** Goes on after an outage where it was: a new consumer, from the offsets that were reached. */
export async function* follow(brokers: readonly string[], topic: string, signal: AbortSignal): AsyncIterable<TopicRecord> {
  const next = new Map<number, bigint>()
  while (!signal.aborted) {
    const consumer = new Consumer({
      groupId: `billing-${topic}-${process.pid}-${performance.now()}`,
      clientId: 'billing',
      bootstrapBrokers: [...brokers],
      maxWaitTime: 100,
      retries: 0,
      connectTimeout: 1_000,
      timeout: 3_000,
    })
    const end = (): void => void consumer.close(true).catch(() => undefined)
    signal.addEventListener('abort', end)
    try {
      const { topics } = await consumer.metadata({ topics: [topic] })
      const partitions = topics.get(topic)?.partitionsCount ?? 0
      const offsets = Array.from({ length: partitions }, (_, partition) => ({ topic, partition, offset: next.get(partition) ?? 0n }))
      const stream = await consumer.consume({ topics: [topic], mode: 'manual', offsets, autocommit: false })
      for await (const { partition, offset, key, value, headers } of stream) {
        yield { partition, key: key?.toString() ?? null, value: value ?? Buffer.alloc(0), headers: textOfHeaders(headers) }
        next.set(partition, offset + 1n)
      }
    } catch {
      // The broker is away. It is asked again in a moment, for as long as the demo goes on.
    } finally {
      signal.removeEventListener('abort', end)
      await consumer.close(true).catch(() => undefined)
    }
    await pause(200, undefined, { signal }).catch(() => undefined)
  }
}

function textOfHeaders(headers: ReadonlyMap<Buffer, Buffer>): Record<string, string> {
  return Object.fromEntries([...headers].map(([name, value]) => [name.toString(), value.toString()]))
}
