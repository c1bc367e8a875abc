// The embedded broker: an append-only log behind a socket, in a process of its own, so that it can be killed like any other.
// `node server.ts PORT FILE`
import { createServer, type Socket } from 'node:net'
import { LogFile } from './log-file.ts'
import { lineCutter, type WireAnswer, type WireRequest } from './wire.ts'

/** A reader that found nothing waits for so long before it is told so. */
const waitMs = 200
const mostRecords = 200

const [port, file] = process.argv.slice(2)
if (port === undefined || file === undefined) throw new Error('Usage: node server.ts PORT FILE')

const log = new LogFile(file)
const waiting = new Set<() => void>()

async function answer(request: WireRequest): Promise<WireAnswer> {
  switch (request.op) {
    case 'check':
      return { ok: true }
    case 'append': {
      const { topic, lane, epoch, records } = request
      const base = log.append({ topic, lane, epoch, records })
      if (base === null) return { ok: false, code: 'FENCED' }
      for (const wake of waiting) wake()
      return { ok: true, base }
    }
    case 'read': {
      const { topic, from } = request
      if (log.read(topic, from, 1).length === 0) await somethingNew()
      return { ok: true, base: from, records: log.read(topic, from, mostRecords) }
    }
    default:
      return { ok: false, code: 'INVALID' }
  }
}

function somethingNew(): Promise<void> {
  return new Promise((resolve) => {
    const wake = (): void => {
      clearTimeout(timer)
      waiting.delete(wake)
      resolve()
    }
    const timer = setTimeout(wake, waitMs)
    waiting.add(wake)
  })
}

function serve(socket: Socket): void {
  socket.setEncoding('utf8')
  socket.setNoDelay(true)
  socket.on('error', () => socket.destroy())
  const cut = lineCutter((line) => {
    const { id, ...request } = JSON.parse(line) as WireRequest & { id: number }
    // Appends are stored before this returns, so those of one connection keep their order.
    void answer(request as WireRequest).then((found) => socket.writable && socket.write(`${JSON.stringify({ id, ...found })}\n`))
  })
  socket.on('data', (piece: Buffer | string) => cut(String(piece)))
}

createServer(serve).listen(Number(port), '127.0.0.1')
