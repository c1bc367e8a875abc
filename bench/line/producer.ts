// The reference of the broker's side: the same records from memory, by the client's low-level calls, nothing read or settled.
import { Connection, NumericMap, produceV11, type MessageRecord } from '@platformatic/kafka'
import { newProducerId } from './producer-id.ts'
import { report, stopwatch, taskOf } from './contestant.ts'

const perRequest = 125
const lanes = 8
const task = taskOf(process.argv)
const [host, port] = task.brokers[0]!.split(':')
const broker = new Connection('producer', { requestTimeout: 5_000, connectTimeout: 2_000, maxInflights: 64 })
await broker.connect(host!, Number(port))
const value = Buffer.from(JSON.stringify({ pad: 'x'.repeat(480) }))
const names = ['eventId', 'eventType', 'eventTime', 'aggregateType', 'content-type'].map((text) => Buffer.from(text))
const values = ['0190f9f0-0000-7000-8000-000000000000', 'OrderPlaced', '2026-01-01T00:00:00.000000Z', 'order', 'application/json'].map(
  (text) => Buffer.from(text),
)
const streams = await Promise.all(Array.from({ length: lanes }, () => newProducerId(broker)))
const requests = Math.ceil(task.events / (lanes * task.partitions * perRequest))

async function stream(producerId: bigint, partition: number): Promise<void> {
  for (let n = 0; n < requests; n++) {
    const timestamp = BigInt(Date.now())
    const messages: MessageRecord[] = Array.from({ length: perRequest }, (_, i) => ({
      topic: task.topic,
      partition,
      key: Buffer.from(`k${(n * perRequest + i) % 1000}`),
      value,
      headers: new Map(names.map((name, h) => [name, values[h]!])),
      timestamp,
    }))
    const sequences = new NumericMap()
    sequences.set(`${task.topic}:${partition}`, n * perRequest)
    const answer = await produceV11.api.async(broker, -1, 5_000, messages, { producerId, producerEpoch: 0, sequences, compression: 'none' })
    if (typeof answer === 'boolean' || answer.responses[0]!.partitionResponses[0]!.errorCode !== 0) throw new Error('refused')
  }
}

const stop = stopwatch()
await Promise.all(streams.flatMap((id) => Array.from({ length: task.partitions }, (_, partition) => stream(id, partition))))
report(stop(requests * perRequest * lanes * task.partitions))
