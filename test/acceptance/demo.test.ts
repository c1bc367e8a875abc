// The demo as a user runs it, in its short form on the embedded broker: real PostgreSQL, real processes, real kills.
import { Kafka, logLevel } from 'kafkajs'
import { describe, expect, test } from 'vitest'
import { createTestDatabase, describeLine, describePostgres, kafkaBrokers } from '../setup/index.ts'
import { demo, leftOf } from './demo-run.ts'

const asPromised = {
  committed: 350,
  delivered: 350,
  handled: 350,
  lost: 0,
  ghosts: 0,
  reordered: 0,
  late_repeats: 0,
  billed_twice: 0,
}
const aFew: unknown = expect.toSatisfy((count: number) => count > 0)

type Figures = Readonly<Record<string, number>>
function resultOf(out: string): { readonly naive: Figures; readonly faults: Figures; readonly [figure: string]: number | Figures } {
  expect(out.trim().split('\n'), 'one document on standard output').toHaveLength(1)
  return JSON.parse(out) as ReturnType<typeof resultOf>
}

describePostgres('npm run demo -- --broker memory', () => {
  test(
    'nothing of Outrider is wrong, much of the naive shop is, every fault struck, and one JSON document says so',
    { timeout: 180_000 },
    async () => {
      const { url } = await createTestDatabase()
      const { code, out, errors, firstLineMs, pid } = await demo(['--json', '--broker', 'memory', '--seconds', '12'], url)
      expect(code, errors).toBe(0)
      const { naive, faults, ...figures } = resultOf(out)
      expect(figures).toMatchObject(asPromised)
      expect(figures['duplicates'], 'the killed relay had delivered what it had not settled').toBeGreaterThan(0)
      expect(naive).toMatchObject({ committed: 350, lost: aFew, ghosts: aFew, billed_twice: aFew })
      expect(faults).toEqual({ broker_stopped: 1, delivered_twice: aFew, relay_killed: 1, sessions_cut: aFew, shop_killed: 1 })
      expect(errors, 'the story is told beside').toContain('RELAY KILLED (SIGKILL)')
      expect(errors).not.toContain('\u001b')
      // Within a second on a machine of its own; here others run beside.
      expect(firstLineMs).toBeLessThan(5_000)
      expect(leftOf(pid)).toEqual([])
    },
  )

  test('Ctrl-C in the middle ends all of it', { timeout: 60_000 }, async () => {
    const { url } = await createTestDatabase()
    let isSent = false
    const { code, errors, out, pid } = await demo(['--json', '--broker', 'memory'], url, {
      onText(text, kill) {
        if (isSent || !text.includes('orders ')) return
        isSent = true
        kill('SIGINT')
      },
    })
    expect(code, errors).toBe(130)
    expect(out).toBe('')
    expect(errors).toContain('stopped by SIGINT')
    expect(leftOf(pid)).toEqual([])
  })
})

describeLine("npm run demo -- --broker kafka, on a Kafka that is not the demo's", () => {
  test('it is not stopped; all else strikes, and the topics are gone afterwards', { timeout: 180_000 }, async () => {
    const { url } = await createTestDatabase()
    const brokers = await kafkaBrokers()
    const { code, out, errors, pid } = await demo(['--json', '--broker', 'kafka', '--seconds', '12'], url, { brokers })
    expect(code, errors).toBe(0)
    const { naive, faults, ...figures } = resultOf(out)
    expect(figures).toMatchObject(asPromised)
    expect(naive).toMatchObject({ committed: 350, ghosts: aFew })
    expect(faults).toEqual({ delivered_twice: aFew, relay_killed: 1, sessions_cut: aFew, shop_killed: 1 })
    const admin = new Kafka({ brokers, logLevel: logLevel.NOTHING }).admin()
    await admin.connect()
    try {
      expect((await admin.listTopics()).filter((topic) => topic.startsWith(`outrider-demo-${pid}-`))).toEqual([])
    } finally {
      await admin.disconnect()
    }
  })
})

describe('usage', () => {
  test.each([
    [['--broker', 'rabbit'], '--broker is rabbit'],
    [['--seconds', '3'], '--seconds is 3'],
    [['--sekonds'], '--sekonds'],
  ])('%j is refused with status 2 before anything is started', async (args, words) => {
    const { code, errors, out } = await demo(args, 'postgres://nobody@127.0.0.1:1/none')
    expect(code).toBe(2)
    expect(errors).toContain(words)
    expect(out).toBe('')
  })
})

test('a server that can not be had is told with status 3, and nothing is left', async () => {
  const { code, errors, pid } = await demo(['--broker', 'memory'], 'postgres://nobody@127.0.0.1:1/none')
  expect(code).toBe(3)
  expect(errors).toMatch(/A server can't be had\. .*ECONNREFUSED.*:1/)
  expect(leftOf(pid)).toEqual([])
})
