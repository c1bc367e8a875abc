import { expect, onTestFinished } from 'vitest'
import type { EventName, RelayEvent } from '../../../src/core/index.ts'
import { createRelay } from '../../../src/relay/index.ts'
import type { Relay, RelayOptions } from '../../../src/relay/index.ts'
import { createTestClock } from '../../../src/testing/index.ts'
import type { TestClock } from '../../../src/testing/index.ts'
import { FakePublisher, FakeSource } from './fakes.ts'
import type { FakePublisherOptions } from './fakes.ts'

export interface Line {
  readonly source: FakeSource
  readonly publisher: FakePublisher
  readonly relay: Relay
  readonly clock: TestClock
  readonly events: RelayEvent[]
  named<N extends EventName>(this: void, name: N): Extract<RelayEvent, { name: N }>[]
}

export interface LineOptions extends Partial<RelayOptions> {
  /** A copy of the relay in which a rule is broken. */
  readonly make?: typeof createRelay
  readonly lanes?: number
  readonly publish?: FakePublisherOptions
}

/** A relay between a fake source and a fake publisher, on a clock that stands still. Jitter is always the longest pause. */
export function line({ lanes = 1, publish = {}, make = createRelay, ...options }: LineOptions = {}): Line {
  const log: string[] = []
  const source = new FakeSource(lanes, log)
  const publisher = new FakePublisher({ ...publish, log })
  const clock = createTestClock()
  const relay = make({ source, publisher, clock, random: () => 0.999999, relayName: 'test', ...options })
  const events: RelayEvent[] = []
  relay.subscribe((event) => events.push(event))
  onTestFinished(async () => {
    const stopping = relay.stop({ graceMs: 0 })
    source.proceed()
    await clock.advance(20_000)
    await stopping
    expect(source.breaches).toEqual([])
    expect(publisher.breaches).toEqual([])
  })
  return {
    source,
    publisher,
    relay,
    clock,
    events,
    named: <N extends EventName>(name: N) => events.filter((event): event is Extract<RelayEvent, { name: N }> => event.name === name),
  }
}

export async function running(options: LineOptions = {}): Promise<Line> {
  const made = line(options)
  await made.relay.start()
  return made
}
