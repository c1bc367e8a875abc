import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { freePort } from '../../../servers/port.ts'
import { launch, until, type ServerProcess } from '../../../servers/process.ts'
import { LogClient, RequestFailed } from '../../../demo/brokers/embedded/client.ts'
import { embeddedClients } from '../../../demo/brokers/embedded/clients.ts'
import { LogFile } from '../../../demo/brokers/embedded/log-file.ts'
import { embeddedBroker } from '../../../demo/brokers/embedded/publisher.ts'
import type { WireRecord } from '../../../demo/brokers/embedded/wire.ts'
import type { Message } from '../../../src/core/index.ts'

const program = new URL('../../../demo/brokers/embedded/server.ts', import.meta.url).pathname
let folder: string
let port: number
let server: ServerProcess | undefined
const closers: (() => unknown)[] = []

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'embedded-broker-'))
  port = await freePort()
})
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
  await server?.end('SIGKILL', 5_000)
  server = undefined
  rmSync(folder, { recursive: true })
})

async function start(): Promise<void> {
  const log = join(folder, 'server.log')
  const own = launch({ command: process.execPath, args: [program, String(port), join(folder, 'topics.jsonl')], log })
  server = own
  await until(
    'The embedded broker',
    () =>
      publisher()
        .check()
        .then(() => true),
    { server: own, log },
  )
}

function publisher(timeoutMs = 5_000): ReturnType<typeof embeddedBroker> {
  const made = embeddedBroker(port, timeoutMs)
  closers.push(() => made.close())
  return made
}

function message(seq: number, facts: Partial<Message> = {}): Message {
  return {
    id: `id-${seq}`,
    seq: BigInt(seq),
    lane: 0,
    topic: 'orders',
    key: 'k',
    type: 'Placed',
    aggregateType: 'order',
    aggregateId: 'k',
    payload: Buffer.from(`"${seq} 🎂\\n"`),
    contentType: 'application/json',
    headers: null,
    createdAt: '2026-01-01T00:00:00.000000Z',
    attempt: 0,
    ...facts,
  }
}

const context = (lane = 0): { lane: number; signal: AbortSignal } => ({ lane, signal: new AbortController().signal })
const record = (value: string): WireRecord => ({ key: null, value, headers: {} })
const idsIn = async (topic: string): Promise<(string | undefined)[]> =>
  (await embeddedClients(port).readAll(topic)).map(({ headers }) => headers['eventId'])

describe('a broker process', () => {
  test('what it has confirmed is there after a SIGKILL, bytes and headers as they were', async () => {
    await start()
    const accepted = await publisher().publish([message(1), message(2, { headers: { colour: 'grün' } })], context())
    expect(accepted.map(({ kind }) => kind)).toEqual(['accepted', 'accepted'])
    await server?.end('SIGKILL', 5_000)
    await start()
    const records = await embeddedClients(port).readAll('orders')
    expect(records.map(({ value }) => value.toString())).toEqual(['"1 🎂\\n"', '"2 🎂\\n"'])
    expect(records[1]).toMatchObject({ key: 'k', headers: { eventId: 'id-2', colour: 'grün', 'content-type': 'application/json' } })
  })

  test('a lane whose fence moved on can store nothing under the old one, also after a restart', async () => {
    await start()
    const [old, next] = [publisher(), publisher()]
    const first = (await old.fence?.advance(0, null)) ?? new Uint8Array()
    old.fence?.enter(0, first)
    await old.publish([message(1)], context())
    next.fence?.enter(0, (await next.fence?.advance(0, first)) ?? new Uint8Array())
    await next.publish([message(2)], context())
    await server?.end('SIGKILL', 5_000)
    await start()
    expect(await old.publish([message(3)], context())).toMatchObject([{ kind: 'refused', code: 'FENCED' }])
    expect(await old.publish([message(4)], context(1)), 'another lane is not touched').toMatchObject([{ kind: 'accepted' }])
    expect(await idsIn('orders')).toEqual(['id-1', 'id-2', 'id-4'])
  })

  test('a reader goes on where it was after an outage', async () => {
    await start()
    await publisher().publish([message(1)], context())
    const stop = new AbortController()
    const reading = embeddedClients(port).follow('orders', stop.signal)[Symbol.asyncIterator]()
    closers.push(() => stop.abort())
    expect((await reading.next()).value?.headers['eventId']).toBe('id-1')
    const second = reading.next()
    await server?.end('SIGKILL', 5_000)
    await start()
    await publisher().publish([message(2)], context())
    expect((await second).value?.headers['eventId']).toBe('id-2')
    stop.abort()
    expect((await reading.next()).done).toBe(true)
  })

  test('while it is down a publish is refused as unavailable, and a check names the address', async () => {
    expect(await publisher().publish([message(1)], context())).toMatchObject([{ class: 'unavailable', code: 'UNREACHABLE' }])
    await expect(publisher().check()).rejects.toMatchObject({ code: 'BROKER_UNREACHABLE', hint: expect.stringContaining(String(port)) })
  })
})

describe('a broker that takes requests and does not answer', () => {
  let silent: Server
  const sockets = new Set<Socket>()
  let arrived: PromiseWithResolvers<Socket>

  beforeEach(async () => {
    arrived = Promise.withResolvers()
    silent = createServer((socket) => {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.once('data', () => arrived.resolve(socket))
    })
    await new Promise<void>((resolve) => silent.listen(port, '127.0.0.1', resolve))
    closers.push(() => {
      for (const socket of sockets) socket.destroy()
      return new Promise((resolve) => silent.close(resolve))
    })
  })

  test('the outcome of a publish is unknown once its time is up, for all its messages', async () => {
    const verdicts = await publisher(50).publish([message(1), message(2)], context())
    expect(verdicts).toMatchObject([{ class: 'unknown' }, { class: 'unknown' }])
  })

  test('a connection that is cut under a request leaves its outcome unknown, and the next request takes a new one', async () => {
    const client = new LogClient(port)
    closers.push(() => client.close())
    const asked = client.ask({ op: 'check' }, 5_000)
    ;(await arrived.promise).destroy()
    const error: unknown = await asked.catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(RequestFailed)
    expect(error).toMatchObject({ sent: true })
    await expect(client.ask({ op: 'check' }, 50)).rejects.toMatchObject({ sent: true, message: expect.stringContaining('50 ms') })
  })
})

describe('the file', () => {
  test('a line that a crash cut short goes, and what comes next is whole', () => {
    const path = join(folder, 'log')
    const first = new LogFile(path)
    first.append({ topic: 't', records: [record('a')] })
    first.close()
    appendFileSync(path, '{"topic":"t","records":[{"key":nul')
    const second = new LogFile(path)
    expect(second.append({ topic: 't', records: [record('b')] })).toBe(1)
    second.close()
    const third = new LogFile(path)
    expect(third.read('t', 0, 10).map(({ value }) => value)).toEqual(['a', 'b'])
    third.close()
    expect(readFileSync(path, 'utf8').endsWith('}\n')).toBe(true)
  })
})
