// A TCP proxy on loopback that fails on command: what a network does to the bytes between a client and a server.
import { createServer, connect } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'

/**
 * - `pass`: bytes go both ways.
 * - `hold`: what the client sends is kept, also past the client's end; `release` lets it go.
 * - `dropReplies`: the server gets everything, the client hears nothing.
 * - `blackHole`: bytes vanish in both directions; connections stay open.
 */
export type ProxyMode = 'pass' | 'hold' | 'dropReplies' | 'blackHole'

export interface TcpProxy {
  readonly host: string
  readonly port: number
  readonly mode: ProxyMode
  set(mode: ProxyMode): void
  /** Bytes that are held now, or were swallowed since the last `set`. */
  readonly caughtBytes: number
  /** Resolves once at least `bytes` are held or were swallowed since the last `set`. */
  caught(bytes?: number): Promise<void>
  /** Sends on what is held, in its order, and passes from now on. Resolves when the server has answered, or ended, what came from clients that are gone. */
  release(): Promise<void>
  /** Ends all connections and takes no new ones: they are refused until `listen`. */
  refuse(): Promise<void>
  /** Takes connections again, on the same port. */
  listen(): Promise<void>
  /** Ends all connections with a reset. */
  reset(): void
  /** Ends every connection once it has taken so many bytes more from the client. */
  cutAfter(bytes: number): void
  close(): Promise<void>
}

interface Pair {
  readonly client: Socket
  readonly server: Socket
  held: Buffer[]
}

export async function startProxy(target: { readonly host: string; readonly port: number }): Promise<TcpProxy> {
  const pairs = new Set<Pair>()
  const watchers = new Set<() => void>()
  let mode: ProxyMode = 'pass'
  let caughtBytes = 0
  let cut = Number.POSITIVE_INFINITY

  const caught = (bytes: number): void => {
    caughtBytes += bytes
    for (const watcher of watchers) watcher()
  }
  const end = (pair: Pair): void => {
    pairs.delete(pair)
    pair.client.destroy()
    pair.server.destroy()
  }
  const fromClient = (pair: Pair, data: Buffer): void => {
    const part = data.subarray(0, cut)
    cut -= part.length
    if (mode === 'hold') pair.held.push(part)
    else if (mode !== 'blackHole') pair.server.write(part)
    if (mode === 'hold' || mode === 'blackHole') caught(part.length)
    if (cut > 0) return
    cut = Number.POSITIVE_INFINITY
    // What was let through still arrives; the rest of the request never does.
    pair.server.end()
    pair.client.resetAndDestroy()
  }
  const fromServer = (pair: Pair, data: Buffer): void => {
    if (mode === 'pass' || mode === 'hold') pair.client.write(data)
    else caught(data.length)
  }

  const listener = createServer((client) => {
    client.on('error', () => {})
    const server = connect(target.port, target.host)
    const pair: Pair = { client, server, held: [] }
    pairs.add(pair)
    server.on('error', () => client.destroy())
    client.on('data', (data: Buffer) => fromClient(pair, data))
    server.on('data', (data: Buffer) => fromServer(pair, data))
    server.on('close', () => end(pair))
    client.on('close', () => {
      // Held bytes are still under way, whatever became of their sender.
      if (pair.held.length === 0) server.end()
    })
  })
  let port = 0
  const listen = (): Promise<void> =>
    new Promise((resolve, reject) => {
      if (listener.listening) return resolve()
      listener.once('error', reject)
      listener.listen(port, '127.0.0.1', () => {
        listener.removeListener('error', reject)
        port = (listener.address() as AddressInfo).port
        resolve()
      })
    })
  const refuse = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) => listener.close(() => resolve()))
    for (const pair of pairs) end(pair)
    await closed
  }
  await listen()

  const set = (next: ProxyMode): void => {
    mode = next
    caughtBytes = 0
  }
  return {
    host: '127.0.0.1',
    port,
    get mode() {
      return mode
    },
    get caughtBytes() {
      return caughtBytes
    },
    set,
    caught(bytes = 1) {
      return new Promise((resolve) => {
        const watcher = (): void => {
          if (caughtBytes < bytes) return
          watchers.delete(watcher)
          resolve()
        }
        watchers.add(watcher)
        watcher()
      })
    },
    async release() {
      set('pass')
      const answers: Promise<void>[] = []
      for (const pair of pairs) {
        const { server, held } = pair
        if (held.length === 0) continue
        pair.held = []
        if (pair.client.destroyed) {
          answers.push(
            new Promise((resolve) => {
              server.once('close', resolve)
              server.once('data', () => server.end(resolve))
            }),
          )
        }
        for (const data of held) server.write(data)
      }
      await Promise.all(answers)
    },
    reset() {
      for (const pair of pairs) {
        pair.client.resetAndDestroy()
        pair.server.destroy()
        pairs.delete(pair)
      }
    },
    cutAfter(bytes) {
      cut = bytes
    },
    refuse,
    listen,
    close: refuse,
  }
}
