import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Client } from 'pg'
import { afterAll, afterEach, beforeEach, expect, it, vi } from 'vitest'
import { freePort } from '../../servers/port.ts'
import { createOutbox, defineEvents, event } from '../../src/write/index.ts'
import { readValues } from '../conformance/kafka-topic.ts'
import { createTestDatabase, createTestTopic, describeLine, kafkaBrokers } from '../setup/index.ts'
import { endCliProcesses, runCli, startCli } from './cli-process.ts'

const configModule = pathToFileURL(join(import.meta.dirname, '../../src/config/index.ts')).href

// Each case starts several processes, and a busy machine takes its time for each.
vi.setConfig({ testTimeout: 90_000 })

let cwd: string
const servers: { server: Server; sockets: Set<Socket> }[] = []
beforeEach(() => (cwd = mkdtempSync(join(tmpdir(), 'outrider-relay-'))))
afterEach(async () => {
  await endCliProcesses()
  for (const { server, sockets } of servers.splice(0)) {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  }
  rmSync(cwd, { recursive: true })
})
afterAll(endCliProcesses)

/** Passes everything on from a port of ours. */
async function detourOn(port: number, target: URL): Promise<void> {
  const sockets = new Set<Socket>()
  const keep = (socket: Socket): void => {
    sockets.add(socket)
    socket.on('error', () => undefined)
  }
  const server = createServer((socket) => {
    keep(socket)
    const onward = connect(Number(target.port || 5432), target.hostname)
    keep(onward)
    socket.pipe(onward).pipe(socket)
  })
  servers.push({ server, sockets })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
}

async function migrated(...words: string[]): Promise<string> {
  const { url } = await createTestDatabase()
  expect((await runCli(['migrate', ...words], { cwd, env: { DATABASE_URL: url } })).code).toBe(0)
  return url
}

async function write(url: string, topic: string, values: readonly number[], schema = 'outrider'): Promise<void> {
  const events = defineEvents({ Placed: event<{ n: number }>({ aggregate: 'order', key: (e) => String(e.n), topic }) })
  const outbox = createOutbox({ events, schema })
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query('begin')
    await outbox.writeMany(
      client,
      values.map((n) => ({ type: 'Placed', payload: { n } }) as const),
    )
    await client.query('commit')
  } finally {
    await client.end()
  }
}

/** Resolves with the numbers in the topic when there are so many; bounded by the test's own time. */
async function numbersIn(topic: string, count: number): Promise<number[]> {
  for (;;) {
    // A topic that was just made may not have a leader yet.
    const values = await readValues(await kafkaBrokers(), topic).catch(() => [])
    if (values.length >= count) return values.map((v) => (JSON.parse(v ?? '{}') as { n: number }).n).toSorted((a, b) => a - b)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

const range = (n: number) => Array.from({ length: n }, (_, i) => i)

describeLine('outrider relay', () => {
  it('needs nothing but DATABASE_URL and KAFKA_BROKERS, and ends with 0 at SIGTERM', async () => {
    const url = await migrated()
    const topic = await createTestTopic({ partitions: 3 })
    await write(url, topic, range(20))
    const env = { DATABASE_URL: url, KAFKA_BROKERS: (await kafkaBrokers()).join(',') }
    const cli = startCli(['relay', '--json', '--name', 'box', '--log-level', 'debug'], { cwd, env })
    expect(await numbersIn(topic, 20)).toEqual(range(20))
    cli.kill('SIGTERM')
    const { code, stdout, stderr } = await cli.finished
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toEqual({ signal: 'SIGTERM', clean: true, relays: [{ name: 'box', delivered: 20, unsettled: 0 }] })
    const lines = stderr
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { event?: string; relay?: string })
    expect(lines.map((l) => l.event)).toEqual(expect.arrayContaining(['relay.started', 'lane.acquired', 'publish.done', 'relay.stopped']))
    expect(lines.find((l) => l.event === 'relay.started')?.relay).toBe('box')
    const password = decodeURIComponent(new URL(url).password)
    if (password !== '') expect(stdout + stderr).not.toContain(password)
  })

  it('gives its lanes back at SIGTERM: the next one need not wait for the lease', async () => {
    const url = await migrated()
    const topic = await createTestTopic()
    const env = { DATABASE_URL: url, KAFKA_BROKERS: (await kafkaBrokers()).join(',') }
    // Once while it takes its lanes, once when it has them.
    for (const moment of [/started:/, /lane 7 acquired/]) {
      const first = startCli(['relay', '--lease-ms', '600000', '--log-level', 'debug'], { cwd, env })
      await first.seen(moment)
      first.kill('SIGINT')
      expect(await first.finished).toMatchObject({ code: 0, stdout: '' })
    }
    await write(url, topic, range(5))
    const second = startCli(['relay'], { cwd, env })
    expect(await numbersIn(topic, 5)).toEqual(range(5))
    second.kill('SIGTERM')
    expect((await second.finished).code).toBe(0)
  })

  it('runs the relays of a TypeScript configuration file, each on its own outbox', async () => {
    const url = await migrated('--schema', 'orders')
    expect((await runCli(['migrate', '--schema', 'bills'], { cwd, env: { DATABASE_URL: url } })).code).toBe(0)
    const [orders, bills] = [await createTestTopic(), await createTestTopic()]
    writeFileSync(
      join(cwd, 'outrider.config.ts'),
      `import { defineConfig, env, kafka, postgres } from '${configModule}'
      const relay = (schema: string) => ({ source: postgres({ url: env('SHOP_DB'), schema }), publisher: kafka({ brokers: env.list('SHOP_BROKERS') }) })
      console.log('a configuration may print')
      export default defineConfig({ relays: { orders: relay('orders'), bills: relay('bills') }, graceMs: 5_000, log: { format: 'json' } })`,
    )
    await write(url, orders, [1, 2], 'orders')
    await write(url, bills, [3], 'bills')
    const env = { SHOP_DB: url, SHOP_BROKERS: (await kafkaBrokers()).join(',') }
    const cli = startCli(['relay', '--json', '--name', 'box'], { cwd, env })
    expect([await numbersIn(orders, 2), await numbersIn(bills, 1)]).toEqual([[1, 2], [3]])
    cli.kill('SIGTERM')
    const { code, stdout } = await cli.finished
    const { relays } = JSON.parse(stdout) as { relays: { name: string; unsettled: number }[] }
    expect([code, relays.map((r) => [r.name, r.unsettled])]).toEqual([
      0,
      [
        ['box/orders', 0],
        ['box/bills', 0],
      ],
    ])
  })

  it('waits for a database that is down at the start, says so, and goes on when it is back', async () => {
    const url = await migrated()
    const topic = await createTestTopic()
    await write(url, topic, range(3))
    const detour = new URL(url)
    detour.hostname = '127.0.0.1'
    detour.port = String(await freePort())
    const cli = startCli(['relay'], { cwd, env: { DATABASE_URL: detour.href, KAFKA_BROKERS: (await kafkaBrokers()).join(',') } })
    await cli.seen(/warn .*SOURCE_UNREACHABLE .*ECONNREFUSED[^]*Trying again in \d+ ms/)
    await detourOn(Number(detour.port), new URL(url))
    expect(await numbersIn(topic, 3)).toEqual(range(3))
    cli.kill('SIGTERM')
    expect((await cli.finished).code).toBe(0)
  })

  it('ends with 0 at a signal while the database is still down', async () => {
    const env = {
      DATABASE_URL: `postgres://app:hunter2@127.0.0.1:${await freePort()}/shop`,
      KAFKA_BROKERS: `127.0.0.1:${await freePort()}`,
    }
    const cli = startCli(['relay'], { cwd, env })
    await cli.seen(/Trying again/)
    cli.kill('SIGTERM')
    const { code, stdout, stderr } = await cli.finished
    expect([code, stdout]).toEqual([0, ''])
    expect(stderr).not.toContain('hunter2')
  })

  it('ends with 0 soon after the grace time when the broker never answers; a second signal ends it at once', async () => {
    const url = await migrated()
    await write(url, 'some-topic', range(3))
    writeFileSync(
      join(cwd, 'outrider.config.mjs'),
      `import { env, postgres } from '${configModule}'
      const publish = () => new Promise(() => process.stderr.write('AT THE BROKER\\n'))
      const publisher = { name: 'silent', order: 'batch', limits: { publishTimeoutMs: 15_000 }, publish, check: async () => {}, close: async () => {} }
      export default { source: postgres({ url: env('DATABASE_URL') }), publisher }`,
    )
    const env = { DATABASE_URL: url }
    const patient = startCli(['relay', '--json', '--grace-ms', '300'], { cwd, env })
    await patient.seen(/AT THE BROKER/)
    const signalledAt = performance.now()
    patient.kill('SIGTERM')
    const { code, stdout } = await patient.finished
    expect(performance.now() - signalledAt).toBeLessThan(8_000)
    const { clean, relays } = JSON.parse(stdout) as { clean: boolean; relays: { unsettled: number }[] }
    expect([code, clean]).toEqual([0, false])
    expect(relays[0]?.unsettled).toBeGreaterThan(0)

    const hurried = startCli(['relay', '--grace-ms', '600000'], { cwd, env })
    await hurried.seen(/AT THE BROKER/)
    hurried.kill('SIGTERM')
    await hurried.seen(/SIGTERM: stopping/)
    hurried.kill('SIGTERM')
    const second = await hurried.finished
    expect(second.code).toBe(1)
    expect(second.stderr).toContain('once more: ending at once')
  })

  it('ends with 0 at a signal that comes while the configuration is read', async () => {
    writeFileSync(
      join(cwd, 'outrider.config.mjs'),
      `process.kill(process.pid, 'SIGTERM')\nawait new Promise((resolve) => setTimeout(resolve, 50))\nexport default {}`,
    )
    const env = { DATABASE_URL: 'postgres://127.0.0.1:1/x', KAFKA_BROKERS: '127.0.0.1:1' }
    const { code, stdout } = await runCli(['relay', '--json'], { cwd, env })
    expect([code, JSON.parse(stdout)]).toEqual([0, { signal: 'SIGTERM', clean: true, relays: [] }])
  })

  it('ends with 1 when only a person can mend it, and says how', async () => {
    const { url } = await createTestDatabase()
    const env = { DATABASE_URL: url, KAFKA_BROKERS: (await kafkaBrokers()).join(',') }
    const { code, stdout, stderr } = await runCli(['relay', '--json'], { cwd, env })
    expect(code).toBe(1)
    expect(JSON.parse(stdout)).toMatchObject({
      signal: null,
      error: { code: 'SCHEMA_MISSING', hint: expect.stringContaining('outrider migrate') },
    })
    expect(stderr).toMatch(/"level":"error"/)
    const plain = await runCli(['relay'], { cwd, env })
    expect(plain).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/error .*SCHEMA_MISSING .*npx outrider migrate/) })
  })

  it('ends with 2 when options do not fit each other, before anything is connected', async () => {
    const env = { DATABASE_URL: 'postgres://127.0.0.1:1/x', KAFKA_BROKERS: '127.0.0.1:1', OUTRIDER_LEASE_MS: '5000' }
    expect(await runCli(['relay'], { cwd, env })).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/^CONFIG_INVALID .*leaseMs is 5000/),
    })
  })
})
