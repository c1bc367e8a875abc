// A connection to the embedded broker, made anew when it is needed and the old one is gone.
import { connect } from 'node:net'
import { lineCutter, type WireAnswer, type WireRequest } from './wire.ts'

/** `sent` tells whether the broker may have got the request: only then is its outcome unknown. */
export class RequestFailed extends Error {
  readonly sent: boolean

  constructor(message: string, sent: boolean) {
    super(message)
    this.name = 'RequestFailed'
    this.sent = sent
  }
}

/** One connection and what was asked over it: all of it fails with the connection. */
interface Link {
  readonly ready: Promise<void>
  readonly state: 'opening' | 'open' | 'closed'
  send(request: WireRequest): Promise<WireAnswer>
  /** Ends the connection: no byte that is not at the broker yet gets there. */
  cut(reason: string): void
}

export class LogClient {
  readonly #port: number
  #link: Link | null = null
  #isClosed = false

  constructor(port: number) {
    this.#port = port
  }

  /** @throws RequestFailed */
  async ask(request: WireRequest, timeoutMs: number): Promise<WireAnswer> {
    if (this.#isClosed) throw new RequestFailed('the client was closed', false)
    const link = this.#link === null || this.#link.state === 'closed' ? openLink(this.#port) : this.#link
    this.#link = link
    // What was sent without an answer may still be stored: the next request takes a connection of its own.
    const timer = setTimeout(() => link.cut(`no answer within ${Math.round(timeoutMs)} ms`), Math.max(1, timeoutMs))
    try {
      await link.ready
      if (link.state !== 'open') throw new RequestFailed('the connection was closed', false)
      return await link.send(request)
    } finally {
      clearTimeout(timer)
    }
  }

  close(): void {
    this.#isClosed = true
    this.#link?.cut('the client was closed')
  }
}

function openLink(port: number): Link {
  const socket = connect({ port, host: '127.0.0.1' })
  socket.setEncoding('utf8')
  socket.setNoDelay(true)
  const pending = new Map<number, PromiseWithResolvers<WireAnswer>>()
  const ready = Promise.withResolvers<void>()
  ready.promise.catch(() => undefined)
  let state: Link['state'] = 'opening'
  let reason = 'the broker closed the connection'
  let nextId = 1
  socket.on('connect', () => {
    state = 'open'
    ready.resolve()
  })
  socket.on('error', (error) => (reason = error.message))
  socket.on('close', () => {
    state = 'closed'
    ready.reject(new RequestFailed(reason, false))
    for (const { reject } of pending.values()) reject(new RequestFailed(reason, true))
  })
  const cut = lineCutter((line) => {
    const { id, ...answer } = JSON.parse(line) as { id: number } & WireAnswer
    pending.get(id)?.resolve(answer)
    pending.delete(id)
  })
  socket.on('data', (piece: Buffer | string) => cut(String(piece)))
  return {
    ready: ready.promise,
    get state() {
      return state
    },
    send(request) {
      const id = nextId++
      const answer = Promise.withResolvers<WireAnswer>()
      pending.set(id, answer)
      socket.write(`${JSON.stringify({ id, ...request })}\n`)
      return answer.promise
    },
    cut(why) {
      reason = why
      socket.destroy()
    },
  }
}
