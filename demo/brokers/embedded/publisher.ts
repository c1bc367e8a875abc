// A publisher for the embedded broker: what it takes to add a broker to Outrider, the fence included.
import { OutriderError, textOf, type Message, type Publisher, type Refused } from '../../../src/core/index.ts'
import { LogClient, RequestFailed } from './client.ts'
import type { WireRecord } from './wire.ts'

/** @param publishTimeoutMs longest time that one publish takes, in milliseconds */
export function embeddedBroker(port: number, publishTimeoutMs: number): Publisher {
  const client = new LogClient(port)
  const epochs = new Map<number, number>()
  return {
    name: 'embedded',
    order: 'batch',
    limits: { publishTimeoutMs },
    async publish(batch, { lane, signal }) {
      const end = performance.now() + publishTimeoutMs
      const epoch = epochs.get(lane) ?? 0
      const refusals = new Map<string, Refused | null>()
      for (const [topic, messages] of Map.groupBy(batch, (message) => message.topic)) {
        const leftMs = end - performance.now()
        refusals.set(topic, signal.aborted || leftMs <= 0 ? gaveUp : await append(client, topic, messages, lane, epoch, leftMs))
      }
      return batch.map(({ topic }) => refusals.get(topic) ?? { kind: 'accepted', position: null })
    },
    fence: {
      advance: async (_lane, stored) =>
        new TextEncoder().encode(String(stored === null ? 1 : Number(new TextDecoder().decode(stored)) + 1)),
      enter: (lane, fence) => void epochs.set(lane, Number(new TextDecoder().decode(fence))),
    },
    async check() {
      try {
        await client.ask({ op: 'check' }, publishTimeoutMs)
      } catch (cause) {
        throw new OutriderError('BROKER_UNREACHABLE', `The embedded broker does not answer: ${textOf(cause)}.`, {
          hint: `Is its process on port ${port} running?`,
          retryable: true,
          cause,
        })
      }
    },
    close: async () => client.close(),
  }
}

const refused = (kind: Refused['class'], code: string, detail: string): Refused => ({ kind: 'refused', class: kind, code, detail })
const gaveUp = refused('unavailable', 'GIVEN_UP', 'There was no time left to send this.')

async function append(
  client: LogClient,
  topic: string,
  messages: readonly Message[],
  lane: number,
  epoch: number,
  timeoutMs: number,
): Promise<Refused | null> {
  try {
    const answer = await client.ask({ op: 'append', topic, lane, epoch, records: messages.map(recordOf) }, timeoutMs)
    if (answer.ok) return null
    return answer.code === 'FENCED'
      ? refused('unavailable', 'FENCED', `Epoch ${epoch} of lane ${lane} is over.`)
      : refused('permanent', answer.code, 'The embedded broker did not understand the request.')
  } catch (error) {
    const sent = error instanceof RequestFailed && error.sent
    return refused(sent ? 'unknown' : 'unavailable', sent ? 'NO_ANSWER' : 'UNREACHABLE', textOf(error))
  }
}

function recordOf(message: Message): WireRecord {
  return {
    key: message.key,
    value: message.payload === null ? null : Buffer.from(message.payload).toString('base64'),
    headers: {
      ...message.headers,
      eventId: message.id,
      eventType: message.type,
      eventTime: message.createdAt,
      aggregateType: message.aggregateType,
      'content-type': message.contentType,
    },
  }
}
