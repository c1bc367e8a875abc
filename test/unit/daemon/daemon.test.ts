import { describe, expect, it } from 'vitest'
import type { LoadedConfig, RelayPlan } from '../../../src/config/load.ts'
import { OutriderError, type Clock, type RelayEvent } from '../../../src/core/index.ts'
import { runDaemon, type DaemonRelay, type DaemonResult } from '../../../src/daemon/daemon.ts'

interface FakeRelay extends DaemonRelay {
  fail(error: Error): void
  emit(event: RelayEvent): void
  readonly calls: string[]
}
interface Script {
  check?: () => Promise<void>
  start?: () => Promise<void>
  stop?: () => Promise<number>
}

function fakeRelay(script: Script): FakeRelay {
  const subscribers: ((event: RelayEvent) => void)[] = []
  let fail!: (error: Error) => void
  const relay: FakeRelay = {
    calls: [],
    done: new Promise((_, reject) => (fail = reject)),
    fail: (error) => fail(error),
    emit: (event) => subscribers.forEach((s) => s(event)),
    async start() {
      relay.calls.push('start')
      await script.start?.()
    },
    async stop({ graceMs }) {
      relay.calls.push(`stop ${graceMs}`)
      return { unsettled: (await script.stop?.()) ?? 0 }
    },
    subscribe: (subscriber) => subscribers.push(subscriber),
  }
  return relay
}

const plan = (name: string | null, script: Script): RelayPlan =>
  ({ name, options: { publisher: { check: async () => await script.check?.() } } }) as unknown as RelayPlan

/** A daemon whose clock never moves but where a test lets it. */
function daemon(scripts: Record<string, Script>, graceMs = 1_000) {
  const relays = Object.values(scripts).map(fakeRelay)
  const lines: string[] = []
  const exits: number[] = []
  const sleeps: { ms: number; wake: () => void }[] = []
  let signal!: (name: string) => void
  let listening = false
  const clock: Clock = {
    monotonicMs: () => 0,
    wallMs: () => 0,
    sleep: (ms, abort) =>
      new Promise((wake) => {
        sleeps.push({ ms, wake })
        abort?.addEventListener('abort', () => wake())
      }),
  }
  const made: string[] = []
  const done: Promise<DaemonResult> = runDaemon({
    config: {
      file: null,
      relays: Object.entries(scripts).map(([n, script]) => plan(n === 'only' ? null : n, script)),
      graceMs,
      log: { level: 'info', format: 'text' },
    } satisfies LoadedConfig,
    name: 'box',
    makeRelay: (_, name) => {
      made.push(name)
      return relays[made.length - 1] as FakeRelay
    },
    logger: { event: () => undefined, say: (level, text) => void lines.push(`${level} ${text}`), flush: () => undefined },
    clock,
    onStopSignal: (listener) => {
      signal = listener
      listening = true
      return () => (listening = false)
    },
    exit: (code) => void exits.push(code),
  })
  return { done, relays, lines, exits, sleeps, made, signal: (name: string) => signal(name), listening: () => listening }
}

const until = async (condition: () => boolean): Promise<void> => {
  for (let i = 0; i < 1_000 && !condition(); i++) await new Promise((resolve) => setImmediate(resolve))
  expect(condition()).toBe(true)
}

describe('the daemon', () => {
  it('stops at a signal with the grace time, and says what was delivered', async () => {
    const d = daemon({ only: {} })
    await until(() => d.relays[0]?.calls.includes('start') === true)
    d.relays[0]?.emit({ name: 'publish.done', lane: 0, group: 'orders', messages: 7, refused: 2, ms: 1 })
    d.signal('SIGTERM')
    expect(await d.done).toEqual({ signal: 'SIGTERM', error: null, clean: true, relays: [{ name: 'box', delivered: 5, unsettled: 0 }] })
    expect(d.relays[0]?.calls).toEqual(['start', 'stop 1000'])
    expect(d.listening()).toBe(false)
    expect(d.exits).toEqual([])
  })

  it('stops while the start still waits', async () => {
    const d = daemon({ only: { start: () => new Promise(() => undefined) } })
    d.signal('SIGINT')
    expect(await d.done).toMatchObject({ signal: 'SIGINT', clean: true })
  })

  it('ends at once at the second signal, and only then', async () => {
    const d = daemon({ only: { stop: () => new Promise(() => undefined) } })
    d.signal('SIGTERM')
    await until(() => d.sleeps.length > 0)
    expect(d.exits).toEqual([])
    d.signal('SIGTERM')
    d.signal('SIGTERM')
    expect(d.exits).toEqual([1])
    d.sleeps[0]?.wake()
    await d.done
  })

  it('gives up a stop that hangs, half a second after the grace time', async () => {
    const d = daemon({ only: { stop: () => new Promise(() => undefined) } })
    d.signal('SIGTERM')
    await until(() => d.sleeps.length > 0)
    expect(d.sleeps[0]?.ms).toBe(1_500)
    d.sleeps[0]?.wake()
    expect(await d.done).toMatchObject({ clean: false, error: null })
    expect(d.lines.join('\n')).toContain('grace time is over')
  })

  it('is not clean when messages were in flight, or when the stop went wrong', async () => {
    const one = daemon({ only: { stop: () => Promise.resolve(3) } })
    one.signal('SIGTERM')
    expect(await one.done).toMatchObject({ clean: false, relays: [{ unsettled: 3 }] })
    const two = daemon({ only: { stop: () => Promise.reject(new Error('no')) } })
    two.signal('SIGTERM')
    expect(await two.done).toMatchObject({ clean: false })
  })

  it('ends when a relay can not start, with its error', async () => {
    const error = new OutriderError('SCHEMA_MISSING', 'No table.', { hint: 'npx outrider migrate' })
    const d = daemon({ only: { start: () => Promise.reject(error) } })
    expect(await d.done).toMatchObject({ signal: null, error })
    expect(d.relays[0]?.calls).toEqual(['start', 'stop 1000'])
  })

  it('ends when the publisher can never work, and says so once', async () => {
    const error = new OutriderError('DRIVER_MISSING', 'No driver.', { hint: 'npm install it' })
    const d = daemon({ only: { check: () => Promise.reject(error), start: () => new Promise(() => undefined) } })
    expect(await d.done).toMatchObject({ signal: null, error })
    expect(d.lines).toEqual(['error box: DRIVER_MISSING No driver. npm install it'])
  })

  it.each([
    new OutriderError('BROKER_UNREACHABLE', 'It is down.'),
    new OutriderError('SOURCE_LOST', 'Later.', { retryable: true }),
    new Error('What a publisher of your own throws.'),
  ])('goes on when the publisher only does not work yet: %s', async (problem) => {
    const check = async (): Promise<void> => {
      throw problem
    }
    const d = daemon({ only: { check } })
    await until(() => d.lines.length > 0)
    expect(d.lines[0]).toMatch(/^warn box: .*(down|Later|throws)\.$/)
    d.signal('SIGTERM')
    expect(await d.done).toMatchObject({ signal: 'SIGTERM', error: null })
  })

  it('ends when one relay fails later, and stops the others within the grace time', async () => {
    const d = daemon({ orders: {}, bills: {} })
    expect(d.made).toEqual(['box/orders', 'box/bills'])
    const error = new OutriderError('SEQUENCE_RESET', 'x')
    d.relays[0]?.fail(error)
    expect(await d.done).toMatchObject({ signal: null, error, relays: [{ name: 'box/orders' }, { name: 'box/bills', unsettled: 0 }] })
    expect(d.relays[1]?.calls).toContain('stop 1000')
  })
})
