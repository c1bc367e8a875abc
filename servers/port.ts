import { createServer } from 'node:net'

const LOWEST = 12_000
const HIGHEST = 32_000

/**
 * A free port of 127.0.0.1 below the range from which the system gives client connections theirs:
 * a server that is stopped and started again must find its port still free.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const port = LOWEST + Math.floor(Math.random() * (HIGHEST - LOWEST))
    if (await canListen(port)) return port
  }
  throw new Error(`No free port between ${LOWEST} and ${HIGHEST} was found in 200 tries.`)
}

const canListen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)))
  })
