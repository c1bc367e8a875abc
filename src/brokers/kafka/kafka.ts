import type { Clock, Publisher } from '../../core/index.ts'
import { createWire } from './driver.ts'
import { senderOf } from './client.ts'
import { ownProducerSettingsOf, settingsOf } from './options.ts'
import type { KafkaOptions, OwnProducerOptions } from './option-types.ts'
import { createOwnProducerPublisher } from './own-producer.ts'
import { createKafkaPublisher } from './publisher.ts'

/**
 * A publisher for Apache Kafka 3.9 and later. Connects when it is first used.
 * With `{ producer }` it sends through a producer of your own instead, without a fence.
 *
 * @throws OutriderError CONFIG_INVALID when an option is unknown or has no use
 */
export function kafka(options: KafkaOptions | OwnProducerOptions): Publisher {
  if ('producer' in options) {
    return createOwnProducerPublisher(ownProducerSettingsOf(options), senderOf(options.producer), systemClock)
  }
  const settings = settingsOf(options)
  const wire = createWire({
    clientId: settings.clientId,
    tls: settings.tls,
    sasl: settings.sasl,
    compression: settings.compression,
    requestTimeoutMs: settings.publishTimeoutMs + 1_000,
  })
  return createKafkaPublisher(settings, wire, systemClock)
}

export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted === true) return resolve()
      const done = (): void => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', done)
        resolve()
      }
      const timer = setTimeout(done, ms)
      signal?.addEventListener('abort', done, { once: true })
    }),
}
