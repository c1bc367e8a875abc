import { OutriderError } from '../../core/index.ts'
import type { Clock, Grant, Lag, Message, Ownership, ReadRequest, Settlement, Source, SourceContext, SourceInfo } from '../../core/index.ts'
import type { Store, StoredRow } from './store.ts'

/** A straggler holds the position of its lane back for this long; then the lane goes on past it. */
const holdBackMs = 1000

interface HandedOut {
  readonly row: StoredRow
  readonly sinceMs: number
}

/** What one connection knows of a lane; worth nothing once the connection is lost. */
interface LaneView {
  readonly token: bigint
  /** Handed out above the lane's position, in order of handing out. */
  above: HandedOut[]
  /** Handed out and not settled, wherever the position is. */
  readonly open: Map<bigint, StoredRow>
}

/** A relay's view of the memory outbox: the contract of a source, without a database. */
export class MemorySource implements Source {
  readonly name = 'memory'
  readonly #store: Store
  readonly #views = new Map<number, LaneView>()
  #context: SourceContext | null = null
  #state: 'new' | 'open' | 'lost' | 'closed' = 'new'
  #kicked = false
  /** Ends the wait of `read`. */
  #wake: (() => void) | null = null

  constructor(store: Store) {
    this.#store = store
  }

  async open(context: SourceContext): Promise<SourceInfo> {
    if (this.#state === 'closed') throw closed()
    this.#context = context
    this.#views.clear()
    this.#state = 'open'
    context.report({ name: 'source.opened', source: this.name, lanes: this.#store.options.lanes })
    return { lanes: this.#store.options.lanes }
  }

  async read(request: ReadRequest): Promise<Message[]> {
    for (;;) {
      const { clock, report } = this.#ready()
      const messages = this.#take(request, clock)
      if (messages.length > 0) {
        const bytes = messages.reduce((sum, m) => sum + (m.payload?.length ?? 0), 0)
        report({ name: 'read.done', messages: messages.length, bytes, late: 0, ms: 0 })
        return messages
      }
      if (request.signal.aborted || this.#kicked) {
        this.#kicked = false
        return []
      }
      await this.#change(request.signal, clock)
      if (this.#stateNow() === 'closed') return []
    }
  }

  async settle(settlements: readonly Settlement[]): Promise<{ readonly lost: readonly number[] }> {
    const { report } = this.#ready()
    const lost = new Set<number>()
    const touched = new Set<number>()
    for (const { message } of settlements) {
      const view = this.#views.get(message.lane)
      if (view === undefined || !this.#holds(message.lane)) {
        lost.add(message.lane)
        continue
      }
      const row = view.open.get(message.seq)
      if (row !== undefined) row.settled = true
      view.open.delete(message.seq)
      touched.add(message.lane)
    }
    for (const lane of lost) this.#views.delete(lane)
    for (const lane of touched) this.#store.compact(lane)
    this.#store.wake()
    report({ name: 'settle.done', messages: settlements.length, lost: lost.size, ms: 0 })
    return { lost: [...lost] }
  }

  readonly ownership: Ownership = {
    acquire: async ({ leaseMs, max }) => {
      const { relayId } = this.#ready()
      const grants: Grant[] = []
      for (let lane = 0; lane < this.#store.lanes.length && grants.length < max; lane++) {
        const state = this.#store.lane(lane)
        const free = state.owner === null || state.owner === relayId || state.endsAtMs <= this.#store.options.nowMs()
        if (!free || this.#views.has(lane)) continue
        const grant = this.#store.take(lane, relayId, leaseMs)
        this.#views.set(lane, { token: grant.token, above: [], open: new Map() })
        grants.push(grant)
      }
      return grants
    },
    renew: async ({ leaseMs }) => {
      this.#ready()
      const lost: number[] = []
      for (const lane of this.#views.keys()) {
        if (this.#holds(lane)) this.#store.lane(lane).endsAtMs = this.#store.options.nowMs() + leaseMs
        else lost.push(lane)
      }
      for (const lane of lost) this.#views.delete(lane)
      return { lost }
    },
    release: async (lanes) => {
      this.#ready()
      for (const lane of lanes) {
        if (this.#holds(lane)) this.#store.lane(lane).owner = null
        this.#views.delete(lane)
      }
      this.#store.wake()
    },
  }

  async storeFence(lane: number, fence: Uint8Array): Promise<boolean> {
    this.#ready()
    if (!this.#holds(lane)) return false
    this.#store.lane(lane).fence = Uint8Array.from(fence)
    return true
  }

  async lag(): Promise<Lag> {
    this.#ready()
    const rows = this.#store.unsettled()
    const oldest = Math.min(...rows.map((row) => Date.parse(row.message.createdAt)))
    return { backlog: rows.length, oldestMs: rows.length === 0 ? 0 : Math.max(0, this.#store.options.wallMs() - oldest) }
  }

  kick(): void {
    this.#kicked = true
    this.#wake?.()
  }

  async close(): Promise<void> {
    this.#state = 'closed'
    this.#views.clear()
    this.#wake?.()
  }

  /** What a lost connection does: all grants are gone, and every call rejects until `open`. */
  loseConnection(): void {
    if (this.#state !== 'open') return
    this.#state = 'lost'
    this.#views.clear()
    this.#wake?.()
  }

  #take(request: ReadRequest, clock: Clock): Message[] {
    const found: StoredRow[] = []
    for (const [lane, view] of this.#views) {
      if (!this.#holds(lane)) continue
      this.#advance(view, clock)
      const inFlight = this.#context?.maxInFlight ?? 0
      let wanted = Math.min(request.room.get(lane) ?? 0, inFlight - view.above.length)
      for (const row of this.#store.lane(lane).rows) {
        if (wanted <= 0) break
        if (row.settled || view.open.has(row.message.seq)) continue
        found.push(row)
        wanted--
      }
    }
    found.sort((a, b) => (a.message.seq < b.message.seq ? -1 : 1))
    const messages: Message[] = []
    let bytes = 0
    for (const row of found) {
      bytes += row.message.payload?.length ?? 0
      if (messages.length > 0 && bytes > request.maxBytes) break
      const view = this.#views.get(row.message.lane)
      view?.open.set(row.message.seq, row)
      view?.above.push({ row, sinceMs: clock.monotonicMs() })
      messages.push(row.message)
    }
    return messages
  }

  /** Moves a lane's position: past what is settled, and past what has been in flight for so long that it must not hold up the rest. */
  #advance(view: LaneView, clock: Clock): void {
    const now = clock.monotonicMs()
    const firstKept = view.above.findIndex(({ row, sinceMs }) => !row.settled && now - sinceMs < holdBackMs)
    view.above = firstKept === -1 ? [] : view.above.slice(firstKept)
  }

  #holds(lane: number): boolean {
    return this.#context !== null && this.#store.holds(this.#context.relayId, lane, this.#views.get(lane)?.token)
  }

  #change(signal: AbortSignal, clock: Clock): Promise<void> {
    return new Promise((resolve) => {
      const ended = new AbortController()
      const stopWaiting = (): void => {
        forget()
        ended.abort()
        signal.removeEventListener('abort', stopWaiting)
        this.#wake = null
        resolve()
      }
      const forget = this.#store.onChange(stopWaiting)
      signal.addEventListener('abort', stopWaiting)
      this.#wake = stopWaiting
      const isFull = [...this.#views.values()].some((view) => view.above.length >= (this.#context?.maxInFlight ?? 0))
      if (isFull) void clock.sleep(holdBackMs, ended.signal).then(() => stopWaiting())
    })
  }

  #stateNow(): 'new' | 'open' | 'lost' | 'closed' {
    return this.#state
  }

  #ready(): SourceContext {
    if (this.#state === 'closed') throw closed()
    if (this.#state !== 'open' || this.#context === null) {
      throw new OutriderError('SOURCE_LOST', 'The connection to the memory outbox is gone. Nothing was changed.', {
        hint: 'Call open again: it starts from what is stored.',
        retryable: true,
      })
    }
    return this.#context
  }
}

function closed(): OutriderError {
  return new OutriderError('CLOSED', 'The memory source is closed. Nothing was done.')
}
