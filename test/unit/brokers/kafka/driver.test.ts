// The driver is the user's to install, and nothing of it is loaded or kept open without need.
import { createServer } from 'node:net'
import type { AddressInfo, Server, Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

let server: Server
let port = 0
const sockets = new Set<Socket>()

/** A server that takes connections and never says a word. */
beforeEach(async () => {
  server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  port = (server.address() as AddressInfo).port
})

afterEach(async () => {
  for (const socket of sockets) socket.destroy()
  sockets.clear()
  await new Promise((resolve) => server.close(resolve))
  vi.doUnmock('@platformatic/kafka')
  vi.resetModules()
})

const load = () => import('../../../../src/brokers/kafka/index.ts')

describe('the driver', () => {
  test('that is missing is named with its install line', async () => {
    vi.doMock('@platformatic/kafka', () => {
      throw new Error('Cannot find package')
    })
    const { kafka } = await load()
    const publisher = kafka({ brokers: 'a' })
    await expect(publisher.check()).rejects.toMatchObject({
      code: 'DRIVER_MISSING',
      message: expect.stringContaining('@platformatic/kafka'),
      hint: expect.stringMatching(/^npm install @platformatic\/kafka@/),
    })
    await publisher.close()
  })

  test('is loaded by the first use, not by kafka()', async () => {
    const loaded = vi.fn()
    vi.doMock('@platformatic/kafka', () => {
      loaded()
      throw new Error('not now')
    })
    const { kafka } = await load()
    const publisher = kafka({ brokers: 'a' })
    await publisher.close()
    expect(loaded).not.toHaveBeenCalled()
  })

  test.each([
    ['TLS', { tls: true }],
    ['SASL', { sasl: { mechanism: 'PLAIN', username: 'u', password: 'p' } }],
    ['the first question', {}],
  ] as const)('gives up %s at a server that says nothing as soon as the publisher is closed', async (_what, options) => {
    const { kafka } = await load()
    const before = timers()
    const publisher = kafka({ brokers: `127.0.0.1:${port}`, connectTimeoutMs: 60_000, publishTimeoutMs: 60_000, ...options })
    const check = expect(publisher.check()).rejects.toMatchObject({ code: expect.stringMatching(/^(CLOSED|BROKER_UNREACHABLE)$/) })
    await vi.waitFor(() => expect(sockets.size).toBe(1), { timeout: 20_000 })
    await publisher.close()
    await check
    // Nothing that would keep a process alive.
    await vi.waitFor(() => {
      expect(timers()).toBeLessThanOrEqual(before)
      expect(process.getActiveResourcesInfo().filter((one) => one === 'TCPSocketWrap' || one === 'TLSWrap')).toHaveLength(
        [...sockets].filter((one) => !one.destroyed).length,
      )
    })
  })
})

const timers = (): number => process.getActiveResourcesInfo().filter((one) => one === 'Timeout').length
