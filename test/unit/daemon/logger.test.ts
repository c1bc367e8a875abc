import { describe, expect, it } from 'vitest'
import type { RelayEvent } from '../../../src/core/index.ts'
import { OutriderError } from '../../../src/core/index.ts'
import { createLogger, type LoggerOptions } from '../../../src/daemon/logger.ts'

function logger(options: Partial<LoggerOptions> = {}) {
  const lines: string[] = []
  const time = { ms: 0 }
  const clock = { monotonicMs: () => time.ms, wallMs: () => Date.UTC(2026, 0, 2) + time.ms, sleep: () => Promise.resolve() }
  return { lines, time, log: createLogger({ level: 'info', format: 'text', clock, write: (line) => void lines.push(line), ...options }) }
}
const refused = (id: string, code = 'NOT_LEADER'): RelayEvent => ({
  name: 'message.refused',
  id,
  seq: 2n ** 60n,
  lane: 1,
  topic: 'orders',
  class: 'transient',
  code,
  detail: 'no.',
  attempt: 1,
  retryInMs: 5,
})
const published = (messages: number, turnedDown = 0): RelayEvent => ({
  name: 'publish.done',
  lane: 0,
  group: 'orders',
  messages,
  refused: turnedDown,
  ms: 1,
})

describe('the logger', () => {
  it('writes a line for people: time, level, relay, text', () => {
    const { log, lines } = logger()
    log.event('shop', { name: 'relay.started', relay: 'shop', lanes: 8, source: 'postgres log', publisher: 'kafka' })
    log.say('warn', 'so it is')
    expect(lines).toEqual([
      '2026-01-02T00:00:00.000Z info  shop: started: postgres log to kafka, 8 lanes',
      '2026-01-02T00:00:00.000Z warn  so it is',
    ])
  })

  it('writes one JSON object a line, with the facts, big numbers as text and errors as objects', () => {
    const { log, lines } = logger({ format: 'json' })
    log.event('shop', refused('a'))
    log.event('shop', {
      name: 'relay.failed',
      relay: 'shop',
      error: new OutriderError('SCHEMA_MISSING', 'No table.', { hint: 'npx outrider migrate' }),
    })
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      expect.objectContaining({
        time: '2026-01-02T00:00:00.000Z',
        level: 'warn',
        event: 'message.refused',
        relay: 'shop',
        seq: '1152921504606846976',
        id: 'a',
      }),
      expect.objectContaining({ level: 'error', error: { code: 'SCHEMA_MISSING', message: 'No table.', hint: 'npx outrider migrate' } }),
    ])
    expect(lines.join('')).not.toContain('\n')
  })

  it('keeps the token of a lane: it is no secret', () => {
    const { log, lines } = logger({ format: 'json', level: 'debug' })
    log.event('shop', { name: 'lane.acquired', lane: 1, token: 7n })
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ token: '7', text: 'lane 1 acquired (token 7)' })
  })

  it.each([
    ['debug', 3],
    ['info', 2],
    ['warn', 1],
    ['error', 1],
  ] as const)('at %s, %i of a debug, an info and an error are written', (level, count) => {
    const { log, lines } = logger({ level })
    log.event('shop', { name: 'lane.released', lane: 1 })
    log.say('info', 'x')
    log.event('shop', { name: 'relay.failed', relay: 'shop', error: new Error('x') })
    expect(lines).toHaveLength(count)
  })

  it('tells a flood of refusals once, then how many there were; other codes at once', () => {
    const { log, lines, time } = logger()
    for (let i = 0; i < 500; i++) log.event('shop', refused(String(i)))
    log.event('shop', refused('x', 'OTHER'))
    expect(lines).toHaveLength(2)
    time.ms = 10_000
    log.event('shop', refused('y'))
    expect(lines[2]).toMatch(/message y .*\(and 499 like it before\)$/)
    log.event('shop', refused('z'))
    log.flush()
    expect(lines[3]).toMatch(/message z .*\(1 like it\)$/)
    log.flush()
    expect(lines).toHaveLength(4)
  })

  it('sums up what was delivered, without what was refused', () => {
    const { log, lines, time } = logger()
    log.event('shop', published(100))
    time.ms = 5_000
    log.event('shop', published(50, 20))
    expect(lines).toEqual([])
    time.ms = 10_000
    log.event('shop', published(1))
    expect(lines).toEqual([expect.stringMatching(/shop: delivered 131 messages in 10.0 s$/)])
    log.event('shop', published(2))
    log.flush()
    expect(lines[1]).toMatch(/delivered 2 messages/)
  })

  it('keeps to one line, whatever a broker answers', () => {
    const { log, lines } = logger()
    log.event('shop', { name: 'relay.failed', relay: 'shop', error: new Error('no\n2026-01-02 info shop: all is well\u001b[2J') })
    expect(lines[0]).toBe("2026-01-02T00:00:00.000Z error shop: can't go on: no 2026-01-02 info shop: all is well [2J.")
  })

  it('masks passwords in both formats', () => {
    for (const format of ['text', 'json'] as const) {
      const { log, lines } = logger({ format })
      log.event('shop', { name: 'source.lost', source: 'postgres log', error: new Error('postgres://a:hunter2@b/c is gone'), retryInMs: 5 })
      expect(lines[0]).toContain('postgres://a:***@b/c is gone')
    }
  })
})
