// Lost connections and lost servers: the source forgets all that it knew and starts from what is stored.
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { startPostgres, type PostgresServer } from '../../servers/postgres.ts'
import { isOutriderError } from '../../src/core/index.ts'
import { startProxy, type TcpProxy } from '../../src/testing/proxy.ts'
import { describePostgres } from '../setup/index.ts'
import { stopped } from './guards-error.ts'
import { beforeStatement, connect, createOutbox, eventually, Follower, insert, Stepper, text, texts, type Outbox } from './source-driver.ts'

const unhandled = vi.fn<(reason: unknown) => void>()
process.on('unhandledRejection', unhandled)

const lost = { code: 'SOURCE_LOST', retryable: true }

describePostgres('a session of the source is ended', () => {
  let outbox: Outbox
  let source: Stepper

  beforeEach(async () => {
    unhandled.mockClear()
    outbox = await createOutbox()
    source = await Stepper.open(outbox)
  })
  afterEach(async () => {
    await source.close()
    await outbox.close()
    expect(unhandled).not.toHaveBeenCalled()
  })

  const end = async (which: 'reading' | 'owning') => {
    const { rowCount } = await outbox.admin.query(
      'select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = $1 and datname = current_database()',
      [`outrider relay (${which})`],
    )
    expect(rowCount).toBe(1)
  }
  const startAnew = async () => {
    await source.open()
    expect(source.grants).toHaveLength(8)
  }

  test.each(['reading', 'owning'] as const)(
    'the %s one, while nothing happens: the next call says so, and open starts anew',
    async (which) => {
      await outbox.insert('before')
      await source.step()
      await end(which)
      await outbox.insert('after')
      expect(await stopped(source.step())).toMatchObject(lost)
      expect(await stopped(source.source.settle([]))).toMatchObject(lost)
      expect(await stopped(source.source.ownership.renew({ leaseMs: 1_000 }))).toMatchObject(lost)
      expect(await stopped(source.source.storeFence(0, Buffer.from('x')))).toMatchObject(lost)
      expect(await stopped(source.source.lag())).toMatchObject(lost)
      await startAnew()
      expect(texts(await source.rest())).toEqual(['after'])
    },
  )

  test.each([
    ['reading', 'window'],
    ['reading', 'guard'],
    ['reading', 'again'],
    ['reading', 'holders'],
    ['reading', 'settle'],
    ['owning', 'window'],
    ['owning', 'settle'],
  ] as const)('the %s one, just before the statement %s: nothing is lost, the late commit neither', async (which, statement) => {
    const late = await outbox.connect()
    await late.query('begin')
    await insert(late, 'late')
    await outbox.insert('early')
    const unhook = beforeStatement(statement, () => end(which))
    let stops = 0
    try {
      for (let i = 0; i < 4; i++) await source.step(60).catch((error: unknown) => (expect(error).toMatchObject(lost), stops++))
    } finally {
      unhook()
    }
    expect(stops).toBeGreaterThan(0)
    await startAnew()
    await source.rest()
    await late.query('commit')
    await source.rest()
    expect([...new Set(source.texts)].toSorted()).toEqual(['early', 'late'])
    // What was handed out and not settled may come again, nothing else.
    expect(source.texts.filter((t) => t === 'late')).toHaveLength(1)
  })

  test('while read waits: it rejects at once, without a poll', async () => {
    const waiting = new AbortController()
    source.clock.onRest = () => waiting.abort()
    const room = new Map([[0, 1]])
    const reading = stopped(source.source.read({ room, maxBytes: 1, signal: AbortSignal.timeout(20_000) }))
    await vi.waitFor(() => expect(waiting.signal.aborted).toBe(true))
    await end('owning')
    expect(await reading).toMatchObject(lost)
  })

  test('close while read waits ends it; close twice, before open and after a loss are harmless', async () => {
    const waiting = new AbortController()
    source.clock.onRest = () => waiting.abort()
    const reading = source.source
      .read({ room: new Map([[0, 1]]), maxBytes: 1, signal: AbortSignal.timeout(20_000) })
      .catch((error: unknown) => error)
    await vi.waitFor(() => expect(waiting.signal.aborted).toBe(true))
    await source.close()
    const ended = await reading
    expect(Array.isArray(ended) || isOutriderError(ended, 'CLOSED')).toBe(true)
    await source.close()
    await new Stepper(outbox.url).close()
    expect(await stopped(source.step())).toMatchObject({ code: 'CLOSED' })
    await source.open()
    await end('reading')
    await stopped(source.step())
    await source.close()
  })

  test('every backend is ended again and again under load: nothing is lost', { timeout: 60_000 }, async () => {
    await source.source.ownership.release([0, 1, 2, 3, 4, 5, 6, 7])
    await source.close()
    const follower = new Follower(outbox.url)
    const writer = await outbox.connect()
    const late = await outbox.connect()
    const sessions = async () =>
      (
        await outbox.admin.query(
          `select from pg_stat_activity where application_name like 'outrider relay%' and datname = current_database()`,
        )
      ).rowCount
    const written: string[] = []
    const write = async (count: number) => {
      await late.query('begin')
      await insert(late, `late ${written.length}`)
      const mine = [`late ${written.length}`]
      for (let i = 0; i < count; i++) {
        mine.push(`event ${written.length}-${i}`)
        await insert(writer, mine.at(-1)!)
      }
      await late.query('commit')
      written.push(...mine)
    }
    for (let round = 0; round < 12; round++) {
      await write(15)
      await eventually('it is connected', async () => (await sessions()) === 2)
      const losses = follower.losses.length
      await outbox.admin.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'outrider relay%' and datname = current_database()`,
      )
      await write(15)
      await eventually('it has noticed', () => follower.losses.length > losses)
    }
    await eventually('all is delivered', () => new Set(follower.delivered.map(text)).size === written.length)
    await follower.stop()
    expect(follower.losses.every((error) => isOutriderError(error) && error.retryable)).toBe(true)
  })
})

describePostgres('a network that swallows', () => {
  let outbox: Outbox
  let proxy: TcpProxy

  beforeEach(async () => {
    unhandled.mockClear()
    outbox = await createOutbox()
    const { hostname, port } = new URL(outbox.url)
    proxy = await startProxy({ host: hostname, port: Number(port) })
  })
  afterEach(async () => {
    await proxy.close()
    await outbox.close()
    expect(unhandled).not.toHaveBeenCalled()
  })
  const through = (): string => {
    const url = new URL(outbox.url)
    url.host = `${proxy.host}:${proxy.port}`
    return url.href
  }

  test('a connection that answers nothing is given up after timeoutMs, and the next one goes on', { timeout: 30_000 }, async () => {
    const follower = new Follower(through(), { timeoutMs: 400 })
    await outbox.insert('before')
    await eventually('it reads', () => follower.delivered.length === 1)
    proxy.set('blackHole')
    await outbox.insert('meanwhile')
    await eventually('it has given up', () => follower.losses.length > 0)
    expect(follower.losses[0]).toMatchObject(lost)
    expect(String(follower.losses[0])).toContain('400 ms')
    await eventually('a new connection is given up too', () => follower.losses.length > 2)
    expect(follower.losses.at(-1)).toMatchObject({ code: 'SOURCE_UNREACHABLE', retryable: true })
    expect(String(follower.losses.at(-1))).toContain('no answer within 400 ms')
    proxy.set('pass')
    await eventually('it goes on', () => follower.delivered.length === 2)
    await follower.stop()
  })

  test('close while open waits for a server that says nothing: nothing stays', async () => {
    const source = new Stepper(through(), { timeoutMs: 30_000 })
    proxy.set('hold')
    const opening = stopped(source.open())
    await proxy.caught()
    await source.close()
    await proxy.release()
    expect(await opening).toMatchObject({ code: 'CLOSED' })
    await eventually(
      'no session is left',
      async () =>
        (
          await outbox.admin.query(
            `select from pg_stat_activity where application_name like 'outrider relay%' and datname = current_database()`,
          )
        ).rowCount === 0,
    )
  })

  test('a server that refuses: SOURCE_UNREACHABLE, which names the address and no password', async () => {
    const source = new Stepper(through())
    await proxy.refuse()
    const error = await stopped(source.open())
    expect(error).toMatchObject({ code: 'SOURCE_UNREACHABLE', retryable: true })
    expect(error.message).toContain(String(proxy.port))
    expect(error.toString()).not.toContain(new URL(outbox.url).password)
    await proxy.listen()
    await source.open()
    await source.close()
  })

  test('a settlement whose answer was lost: what was settled comes not again', async () => {
    const source = await Stepper.open({ url: through() }, { timeoutMs: 30_000 })
    await outbox.insert('one', 'k')
    const messages = await source.read()
    proxy.set('dropReplies')
    const settling = stopped(source.settle(messages))
    await eventually(
      'the position is written',
      async () => (await outbox.admin.query('select from outrider.outbox_position where upto = 1')).rowCount !== 0,
    )
    proxy.reset()
    expect(await settling).toMatchObject(lost)
    proxy.set('pass')
    await source.open()
    expect(await source.rest()).toEqual([])
    await source.close()
  })
})

describePostgres('a server of its own that goes', () => {
  let server: PostgresServer
  let outbox: Outbox

  beforeEach(async () => {
    unhandled.mockClear()
    server = await startPostgres()
    outbox = await createOutbox({ url: server.url })
  }, 60_000)
  afterEach(async () => {
    await outbox.close()
    await server.close()
    expect(unhandled).not.toHaveBeenCalled()
  })

  const payloads = async (): Promise<string[]> => {
    const admin = await connect(server.url)
    const { rows } = await admin.query<{ payload: string }>('select payload from outrider.outbox')
    await admin.end()
    return rows.map((row) => row.payload)
  }
  /** Writes until its session ends. */
  const writeOn = async (name: string, asynchronous: boolean) => {
    const writer = await connect(server.url)
    if (asynchronous) await writer.query('set synchronous_commit = off')
    for (let i = 0; ; i++) {
      const ended = await insert(writer, `${name} ${i}`).then(
        () => false,
        () => true,
      )
      if (ended) return i
    }
  }

  test('restarted twice under load: every event is delivered, the process stays', { timeout: 90_000 }, async () => {
    const follower = new Follower(server.url)
    for (const round of [1, 2]) {
      const writers = [0, 1, 2].map((w) => writeOn(`round ${round} writer ${w}`, false))
      await eventually('it reads', () => follower.delivered.length > round * 200)
      await server.restart()
      for (const count of await Promise.all(writers)) expect(count).toBeGreaterThan(0)
    }
    const all = new Set(await payloads())
    await eventually('all that survived is delivered', () => new Set(follower.delivered.map(text)).size >= all.size)
    await follower.stop()
    const seen = new Set(follower.delivered.map(text))
    expect([...all].filter((payload) => !seen.has(payload))).toEqual([])
    expect(follower.losses.length).toBeGreaterThanOrEqual(2)
  })

  test(
    'killed with writers that commit asynchronously: every event that survived is delivered, also under numbers used once more',
    { timeout: 120_000 },
    async () => {
      const follower = new Follower(server.url)
      for (const round of [1, 2, 3]) {
        const writers = [0, 1, 2].map((w) => writeOn(`round ${round} writer ${w}`, true))
        const before = follower.delivered.length
        await eventually('it reads', () => follower.delivered.length > before + 300)
        await server.kill()
        await Promise.all(writers)
        await server.start()
      }
      outbox = await createOutbox({ url: server.url })
      for (let i = 0; i < 50; i++) await outbox.insert(`after ${i}`)
      const survived = await payloads()
      await eventually('all that survived is delivered', () => {
        const seen = new Set(follower.delivered.map(text))
        return survived.every((payload) => seen.has(payload))
      })
      await follower.stop()
      expect(follower.losses.length).toBeGreaterThanOrEqual(3)
    },
  )
})
