// The reference: the same line as a bare script. It reads windows, groups them by lane and partition, produces, and moves the
// positions. The records are the same, with the same headers. No gap rule, no guards, no bounds on memory, no error handling: the least that such a line can cost.
import { Client, type QueryArrayConfig } from 'pg'
import { Connection, NumericMap, produceV11, type MessageRecord } from '@platformatic/kafka'
import { partitionFor } from '../../src/brokers/kafka/index.ts'
import { newProducerId } from './producer-id.ts'
import { report, stopwatch, taskOf } from './contestant.ts'

const windowRows = 4_000
const lanes = 8
const task = taskOf(process.argv)
const reading = new Client({ connectionString: task.database })
const settling = new Client({ connectionString: task.database })
await Promise.all([reading.connect(), settling.connect()])
await settling.query('set synchronous_commit = off')
const [host, port] = task.brokers[0]!.split(':')
const broker = new Connection('bare', { requestTimeout: 5_000, connectTimeout: 2_000, maxInflights: 64 })
await broker.connect(host!, Number(port))
const producers: bigint[] = []
const sequences: number[][] = []
for (let lane = 0; lane < lanes; lane++) {
  producers.push(await newProducerId(broker))
  sequences.push(Array.from({ length: task.partitions }, () => 0))
}
const name = (text: string): Buffer => Buffer.from(text)
const [eventId, eventType, eventTime, aggregateType, contentType] = [
  'eventId',
  'eventType',
  'eventTime',
  'aggregateType',
  'content-type',
].map(name)
const json = name('application/json')
const types = { getTypeParser: () => (text: string) => text }
const window = `select lane, seq, id, aggregate_type, aggregate_id, event_type, payload::text, headers, created_at from (
  select (hashtextextended(aggregate_id collate "C", 0) & 7)::int as lane, * from outrider.outbox where seq > $1 order by seq limit ${windowRows}) w`
type Row = [
  lane: string,
  seq: string,
  id: string,
  aggregateType: string,
  key: string,
  type: string,
  payload: string,
  headers: null,
  createdAt: string,
]
const read = async (from: string): Promise<Row[]> =>
  (await reading.query({ name: 'window', text: window, values: [from], rowMode: 'array', types } as QueryArrayConfig))
    .rows as unknown as Row[]

async function produce(lane: number, partition: number, messages: MessageRecord[]): Promise<void> {
  const sequence = new NumericMap()
  sequence.set(`${task.topic}:${partition}`, sequences[lane]![partition]!)
  const answer = await produceV11.api.async(broker, -1, 5_000, messages, {
    producerId: producers[lane]!,
    producerEpoch: 0,
    sequences: sequence,
    compression: 'none',
  })
  if (typeof answer === 'boolean' || answer.responses[0]!.partitionResponses[0]!.errorCode !== 0) throw new Error('refused')
  sequences[lane]![partition]! += messages.length
}

const stop = stopwatch()
let done = 0
let next = read('0')
for (let rows = await next; rows.length > 0; rows = await next) {
  const last = rows.at(-1)![1]
  next = read(last)
  const groups = new Map<number, MessageRecord[]>()
  const timestamp = BigInt(Date.now())
  for (const [lane, , id, aggregate, key, type, payload, , createdAt] of rows) {
    const keyBytes = Buffer.from(key)
    const partition = partitionFor(keyBytes, task.partitions)
    const group = Number(lane) * task.partitions + partition
    const headers = new Map([
      [eventId!, Buffer.from(id)],
      [eventType!, Buffer.from(type)],
      [eventTime!, Buffer.from(createdAt)],
      [aggregateType!, Buffer.from(aggregate)],
      [contentType!, json],
    ])
    const message = { topic: task.topic, partition, key: keyBytes, value: Buffer.from(payload), headers, timestamp }
    const messages = groups.get(group)
    if (messages === undefined) groups.set(group, [message])
    else messages.push(message)
  }
  await Promise.all([...groups].map(([group, messages]) => produce(Math.floor(group / task.partitions), group % task.partitions, messages)))
  done += rows.length
  await settling.query({ name: 'settle', text: 'update outrider.outbox_position set upto = $1', values: [last] })
}
report(stop(done))
