// The driver is the user's to install, and nothing of it is loaded or kept open without need.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo, Server, Socket } from 'node:net'
import { text } from 'node:stream/consumers'
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
    ['TLS', '{ tls: true }'],
    ['SASL', "{ sasl: { mechanism: 'PLAIN', username: 'u', password: 'p' } }"],
    ['the first question', '{}'],
  ])(
    'gives up %s at a server that says nothing when the publisher is closed, and leaves nothing that keeps a process alive',
    async (_what, options) => {
      const source = new URL('../../../../src/brokers/kafka/index.ts', import.meta.url).href
      const child = spawn(
        process.execPath,
        [
          '--input-type=module',
          '-e',
          `import { kafka } from ${JSON.stringify(source)}
         const publisher = kafka({ brokers: '127.0.0.1:${port}', connectTimeoutMs: 600_000, publishTimeoutMs: 600_000, ...${options} })
         process.stdin.once('data', () => { process.stdin.unref(); void publisher.close() })
         await publisher.check().catch((error) => console.log(error.code))`,
        ],
        { stdio: ['pipe', 'pipe', 'inherit'] },
      )
      const said = text(child.stdout)
      await new Promise<void>((resolve) => server.once('connection', () => resolve()))
      const ended = once(child, 'exit')
      child.stdin.end('close\n')
      expect(await ended).toEqual([0, null])
      expect(await said).toMatch(/^(CLOSED|BROKER_UNREACHABLE)$/m)
    },
  )
})
