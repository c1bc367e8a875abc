import type { RelayEvent } from '../core/index.ts'
import type { LogLevel } from '../config/settings.ts'

export interface Described {
  readonly level: LogLevel
  readonly text: string
  /** Lines with the same word are told at most once in a while, with the number of those left out. */
  readonly often?: string
}

/** One event of the catalogue for people. */
export function describe(event: RelayEvent): Described {
  switch (event.name) {
    case 'relay.started':
      return { level: 'info', text: `started: ${event.source} to ${event.publisher}, ${event.lanes} lanes` }
    case 'relay.stopped':
      return event.unsettled === 0
        ? { level: 'info', text: 'stopped, nothing in flight' }
        : { level: 'warn', text: `stopped with ${event.unsettled} messages in flight: they will be sent again` }
    case 'relay.failed':
      return { level: 'error', text: `can't go on: ${reason(event.error)}` }
    case 'lane.acquired':
      return { level: 'debug', text: `lane ${event.lane} acquired (token ${event.token})` }
    case 'lane.released':
      return { level: 'debug', text: `lane ${event.lane} released` }
    case 'lane.lost':
      return { level: 'warn', text: `lane ${event.lane} lost (${event.reason}) with ${event.inFlight} messages in flight` }
    case 'lane.fenced':
      return { level: 'debug', text: `lane ${event.lane} fenced (${event.reason})` }
    case 'lane.stale':
      return {
        level: 'warn',
        text: `lane ${event.lane}: nothing published, its lease ends in ${Math.round(event.leftMs)} ms`,
        often: 'lane.stale',
      }
    case 'fence.failed':
      return {
        level: 'warn',
        text: `lane ${event.lane}: no new fence, nothing is published for it: ${reason(event.error)} Trying again in ${Math.round(event.retryInMs)} ms.`,
        often: 'fence.failed',
      }
    case 'publish.disordered':
      return {
        level: 'error',
        text: `lane ${event.lane}: ${event.messages} messages to ${groupName(event.group)} were accepted before an earlier one of their key`,
        often: 'publish.disordered',
      }
    case 'source.opened':
      return { level: 'info', text: `reading from ${event.source}` }
    case 'source.lost':
      return {
        level: 'warn',
        text: `${reason(event.error)} Trying again in ${Math.round(event.retryInMs)} ms.`,
        often: `source.lost ${event.error.message}`,
      }
    case 'read.done':
      return {
        level: 'debug',
        text: `read ${event.messages} messages (${event.bytes} bytes, ${event.late} late) in ${Math.round(event.ms)} ms`,
      }
    case 'gap.opened':
      return { level: 'debug', text: `numbers ${event.lo} to ${event.hi} are not visible yet` }
    case 'gap.found':
      return { level: 'debug', text: `number ${event.seq} became visible after ${Math.round(event.ageMs)} ms` }
    case 'gap.dead':
      return { level: 'debug', text: `numbers ${event.lo} to ${event.hi} were rolled back` }
    case 'publish.started':
      return { level: 'debug', text: `lane ${event.lane}: ${event.messages} messages to ${groupName(event.group)}` }
    case 'publish.done':
      return {
        level: 'debug',
        text: `lane ${event.lane}: ${event.messages} messages to ${groupName(event.group)}, ${event.refused} refused, ${Math.round(event.ms)} ms`,
      }
    case 'publish.unknown':
      return {
        level: 'warn',
        text: `no answer for ${event.messages} messages to ${groupName(event.group)}: ${reason(event.error)} They are sent again.`,
        often: `publish.unknown ${event.group}`,
      }
    case 'message.refused':
      return {
        level: 'warn',
        text: `message ${event.id} to ${event.topic} refused (${event.class}, ${event.code}): ${event.detail} Again in ${Math.round(event.retryInMs)} ms.`,
        often: `message.refused ${event.topic} ${event.class} ${event.code}`,
      }
    case 'message.failed':
      return {
        level: 'error',
        text: `message ${event.id} to ${event.topic} failed after ${event.attempt} attempts (${event.class}, ${event.code}): ${event.detail} Its key waits behind it.`,
      }
    case 'settle.done':
      return { level: 'debug', text: `settled ${event.messages} messages, ${event.lost} lost, ${Math.round(event.ms)} ms` }
  }
}

/** A group is the publisher's own key; where it has parts, NUL stands between them. */
function groupName(group: string): string {
  return group.replaceAll('\u0000', '/')
}

/** The text of an error as one sentence, its code first. */
export function reason(error: Error): string {
  const code = 'code' in error && typeof error.code === 'string' ? `${error.code} ` : ''
  const hint = 'hint' in error && typeof error.hint === 'string' ? ` ${error.hint}` : ''
  return `${code}${sentence(error.message || error.name)}${hint}`
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}
