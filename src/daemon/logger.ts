// A subscriber of the catalogue that writes lines: for people, or one JSON object each.
import { masked } from '../config/secrets.ts'
import { logLevels, type LogFormat, type LogLevel } from '../config/settings.ts'
import type { Clock, RelayEvent } from '../core/index.ts'
import { describe, type Described } from './describe.ts'

export interface LoggerOptions {
  readonly level: LogLevel
  readonly format: LogFormat
  readonly clock: Clock
  readonly write: (line: string) => void
}

export interface Logger {
  /** An event of the relay with this name. */
  event(relay: string, event: RelayEvent): void
  /** What the process itself has to say. */
  say(level: LogLevel, text: string, facts?: Readonly<Record<string, unknown>>): void
  /** Tells what was left out or not summed up yet. */
  flush(): void
}

// Lines that come in floods, and the sum of what was delivered, are told this often.
const pauseMs = 10_000
/** Kinds of lines remembered for that. */
const mostRemembered = 1_000

interface Often {
  toldMs: number
  leftOut: number
  last: () => void
}

export function createLogger({ level, format, clock, write }: LoggerOptions): Logger {
  const least = logLevels.indexOf(level)
  const often = new Map<string, Often>()
  const delivered = new Map<string, { messages: number; sinceMs: number }>()

  const line = (at: LogLevel, relay: string | null, text: string, facts: Readonly<Record<string, unknown>>): void => {
    if (logLevels.indexOf(at) < least) return
    const time = new Date(clock.wallMs()).toISOString()
    if (format === 'json') {
      const names = relay === null ? {} : { relay }
      write(JSON.stringify({ ...facts, ...names, time, level: at, text }, plain))
    } else write(masked(`${time} ${at.padEnd(5)} ${relay === null ? '' : `${relay}: `}${oneLine(text)}`))
  }

  const tell = (relay: string, event: RelayEvent, said: Described): void => {
    const { name, ...facts } = event
    line(said.level, relay, said.text, { event: name, ...facts })
  }

  const tellSometimes = (relay: string, event: RelayEvent, said: Described, word: string): void => {
    const key = `${relay} ${word}`
    const now = clock.monotonicMs()
    const before = often.get(key)
    if (before !== undefined && now - before.toldMs < pauseMs) {
      before.leftOut++
      before.last = () => tell(relay, event, { ...said, text: `${said.text} (${before.leftOut} like it)` })
      return
    }
    if (often.size >= mostRemembered) often.clear()
    const leftOut = before?.leftOut ?? 0
    tell(relay, event, leftOut === 0 ? said : { ...said, text: `${said.text} (and ${leftOut} like it before)` })
    often.set(key, { toldMs: now, leftOut: 0, last: () => undefined })
  }

  const sum = (relay: string, messages: number): void => {
    const now = clock.monotonicMs()
    const entry = delivered.get(relay) ?? { messages: 0, sinceMs: now }
    entry.messages += messages
    delivered.set(relay, entry)
    if (now - entry.sinceMs >= pauseMs) tellSum(relay, entry, now)
  }

  const tellSum = (relay: string, entry: { messages: number; sinceMs: number }, now: number): void => {
    const { messages, sinceMs } = entry
    delivered.delete(relay)
    if (messages > 0)
      line('info', relay, `delivered ${messages} messages in ${((now - sinceMs) / 1_000).toFixed(1)} s`, {
        event: 'delivered',
        messages,
        ms: now - sinceMs,
      })
  }

  return {
    event(relay, event) {
      const said = describe(event)
      if (event.name === 'publish.done') sum(relay, event.messages - event.refused)
      if (said.often === undefined) tell(relay, event, said)
      else tellSometimes(relay, event, said, said.often)
    },
    say: (at, text, facts = {}) => line(at, null, text, facts),
    flush() {
      for (const entry of often.values()) if (entry.leftOut > 0) entry.last()
      often.clear()
      const now = clock.monotonicMs()
      for (const [relay, entry] of delivered) tellSum(relay, entry, now)
    },
  }
}

/** What comes from a broker or a database must not look like a line of ours. */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ')
}

function plain(_: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  if (typeof value === 'string') return masked(value)
  if (!(value instanceof Error)) return value
  const { code, hint } = value as { code?: unknown; hint?: unknown }
  return { code: code ?? value.name, message: value.message, hint: hint ?? null }
}
