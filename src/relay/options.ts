import { hostname } from 'node:os'
import { defaultRetryPolicy, OutriderError } from '../core/index.ts'
import type { Clock, Message, Publisher, RetryPolicy, Source } from '../core/index.ts'
import { processClock } from './clock.ts'
import type { Logger } from './logger.ts'

/** Where a run can be held up: after a read, after the broker accepted, before a settlement. */
export type PausePoint = 'read' | 'accepted' | 'settle'
/** For tests: the relay waits at the point until the answer resolves. An error that it throws is swallowed. */
export type Pauses = (point: PausePoint, messages: readonly Message[]) => Promise<void> | void

export interface RelayOptions {
  /** Where messages come from: `postgres({ ... })`. The relay closes it when it stops. */
  readonly source: Source
  /** Where they go: `kafka({ ... })`. The relay closes it when it stops. */
  readonly publisher: Publisher
  /** Told of every event. @default none: silent */
  readonly logger?: Logger
  /** How refused messages are tried again. */
  readonly policy?: Partial<RetryPolicy>
  /**
   * Most messages of a lane at the broker at once, and so in one batch. Raise it for throughput over a slow network; costs memory
   * and larger repeats after a crash. @default 500
   */
  readonly batchSize?: number
  /** Most messages of a lane in hand, settled ones not counted: after a crash at most lanes x this are sent again. @default 1000 */
  readonly maxInFlight?: number
  /** Bytes of payload after which a read ends. @default 8388608 */
  readonly maxBytes?: number
  /**
   * How long a lane stays with a relay that went silent, in milliseconds; renewed three times as often. Lower it for a faster take-over;
   * at least twice the publisher's timeout. @default 30000
   */
  readonly leaseMs?: number
  /** For people, in leases and events. @default host and process id */
  readonly relayName?: string
  readonly clock?: Clock
  /** A number in [0, 1), for jitter. @default Math.random */
  readonly random?: () => number
  readonly pauses?: Pauses
}

/** The options, complete. */
export interface Settings {
  readonly source: Source
  readonly publisher: Publisher
  readonly policy: RetryPolicy
  readonly batchSize: number
  readonly maxInFlight: number
  readonly maxBytes: number
  readonly leaseMs: number
  readonly relayName: string
  readonly clock: Clock
  readonly random: () => number
  readonly pauses: Pauses | null
}

/** @throws OutriderError CONFIG_INVALID with every problem */
export function settingsOf(options: RelayOptions): Settings {
  const settings: Settings = {
    source: options.source,
    publisher: options.publisher,
    policy: { ...defaultRetryPolicy, ...options.policy },
    batchSize: options.batchSize ?? 500,
    maxInFlight: options.maxInFlight ?? 1000,
    maxBytes: options.maxBytes ?? 8 * 1024 * 1024,
    leaseMs: options.leaseMs ?? 30_000,
    relayName: options.relayName ?? `${hostname()}:${process.pid}`,
    clock: options.clock ?? processClock,
    random: options.random ?? Math.random,
    pauses: options.pauses ?? null,
  }
  const problems: string[] = []
  const whole = (name: string, value: number, least: number): void => {
    if (!Number.isSafeInteger(value) || value < least)
      problems.push(`${name} is ${String(value)}: a whole number from ${least} is expected.`)
  }
  whole('batchSize', settings.batchSize, 1)
  whole('maxInFlight', settings.maxInFlight, 1)
  whole('maxBytes', settings.maxBytes, 1)
  whole('policy.maxAttempts', settings.policy.maxAttempts, 1)
  whole('policy.firstDelayMs', settings.policy.firstDelayMs, 1)
  whole('policy.maxDelayMs', settings.policy.maxDelayMs, 1)
  const timeoutMs = settings.publisher.limits.publishTimeoutMs
  if (!(settings.leaseMs >= 2 * timeoutMs)) {
    problems.push(
      `leaseMs is ${settings.leaseMs}: at least ${2 * timeoutMs} is expected, twice the publisher's publishTimeoutMs of ${timeoutMs}.`,
    )
  }
  if (problems.length === 0) return settings
  throw new OutriderError('CONFIG_INVALID', `createRelay can't work with its options. Nothing was started. ${problems.join(' ')}`, {
    hint: 'Raise leaseMs or lower publishTimeoutMs, and give whole numbers.',
  })
}
