import type { EventName, RelayEvent, Subscriber } from '../core/index.ts'

/** What pino, bunyan and their like are; facts first, text second. */
export interface Logger {
  debug(facts: Readonly<Record<string, unknown>>, text: string): void
  info(facts: Readonly<Record<string, unknown>>, text: string): void
  warn(facts: Readonly<Record<string, unknown>>, text: string): void
  error(facts: Readonly<Record<string, unknown>>, text: string): void
  child?(facts: Readonly<Record<string, unknown>>): Logger
}

type Level = 'debug' | 'info' | 'warn' | 'error'

/** What isn't named here is told at `debug`. */
const levels: Partial<Record<EventName, Level>> = {
  'relay.started': 'info',
  'relay.stopped': 'info',
  'relay.failed': 'error',
  'source.opened': 'info',
  'source.lost': 'warn',
  'lane.lost': 'warn',
  'lane.stale': 'warn',
  'fence.failed': 'warn',
  'gap.found': 'debug',
  'publish.unknown': 'warn',
  'publish.disordered': 'error',
  'message.refused': 'warn',
  'message.failed': 'error',
}

/** A subscriber that tells a logger of every event: the event's name is the text. Numbers beyond 2^53 become text, an error is `err`. */
export function logTo(logger: Logger, relay: string): Subscriber {
  const own = logger.child?.({ relay }) ?? logger
  const always = logger.child === undefined ? { relay } : {}
  return (event) => own[levels[event.name] ?? 'debug']({ ...always, ...factsOf(event) }, event.name)
}

function factsOf(event: RelayEvent): Record<string, unknown> {
  const facts: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(event)) {
    if (name === 'name') continue
    if (name === 'error') facts['err'] = value
    else facts[name] = typeof value === 'bigint' ? value.toString() : value
  }
  return facts
}
