// What one lane sends to one partition: one request in flight, sequence numbers without a gap. A request whose answer was lost is sent again unchanged, with the
// same sequence numbers, for the broker drops it if it has it; when its outcome stays unknown the stream is closed until the lane has a new fence.
import type { Accepted, Message, Refused, Verdict } from '../../core/index.ts'
import type { Call } from './call.ts'
import { attempt } from './attempt.ts'
import type { Outcome, StreamState, Tools } from './attempt.ts'
import { BATCH_OVERHEAD, sizeInBatch } from './record.ts'
import { behind, refusal } from './refusal.ts'
import type { SizeLimits } from './size-limits.ts'
import type { WireRecord } from './wire.ts'
import { Turns } from './turns.ts'
import type { Turn } from './turns.ts'

/** What all streams of a publisher use. */
export interface Shared extends Tools {
  readonly sizes: SizeLimits
}

export interface Item {
  readonly message: Message
  readonly record: WireRecord
  verdict: Verdict | null
}

export interface Stream {
  /** Gives each item its verdict. */
  send(items: readonly Item[], call: Call): Promise<void>
}

export function createStream(lane: StreamState['lane'], topic: string, partition: number, shared: Shared): Stream {
  const turns = new Turns()
  const state: StreamState = { lane, topic, partition, sequence: 0, lastOffset: -1n, isDoubtful: false }
  return {
    async send(items, call) {
      const turn = turns.take(null)
      try {
        const blocked = await turn.begin(call)
        if (blocked === null)
          refuseAll(items, turn, behind('NO_TIME_LEFT', 'an earlier batch of this lane and partition took all the time'))
        else await run(state, items, blocked, turn, call, shared)
      } finally {
        turn.end()
      }
    },
  }
}

async function run(
  state: StreamState,
  items: readonly Item[],
  before: ReadonlySet<string>,
  turn: Turn,
  call: Call,
  shared: Shared,
): Promise<void> {
  if (state.isDoubtful) {
    // `unknown`, so that a relay that missed the first one moves the fence on now.
    refuseAll(
      items,
      turn,
      refusal(
        'unknown',
        'FENCE_NEEDED',
        `an earlier batch to ${state.topic}/${state.partition} has no outcome; the lane needs a new fence`,
      ),
    )
    return
  }
  const blocked = new Set(before)
  let pending = items
  let most = Number.POSITIVE_INFINITY
  while (pending.length > 0) {
    const { chunk, rest } = cut(pending, most, blocked, turn, shared.sizes, state.topic)
    if (chunk.length === 0) return
    const outcome = await attempt(
      state,
      chunk.map((item) => item.record),
      call,
      shared,
    )
    switch (outcome.kind) {
      case 'accepted':
        accept(chunk, outcome, state)
        pending = rest
        most *= 2
        break
      case 'refused':
        refuseAll(chunk, turn, outcome.refusal)
        refuseAll(rest, turn, outcome.refusal)
        return
      case 'unknown':
        state.isDoubtful = true
        refuseAll(chunk, turn, refusal('unknown', outcome.code, outcome.detail))
        refuseAll(rest, turn, behind('BEHIND_UNKNOWN', `an earlier batch to ${state.topic}/${state.partition} has no outcome`))
        return
      case 'tooLarge':
        if (await shared.sizes.learn(state.topic, chunkSize(chunk), call)) {
          pending = [...chunk, ...rest]
          break
        }
        if (chunk.length === 1) refuseAll(chunk, turn, shared.sizes.refusal(state.topic, chunkSize(chunk)), blocked)
        pending = chunk.length === 1 ? rest : [...chunk, ...rest]
        most = Math.max(1, Math.ceil(chunk.length / 2))
        break
      case 'badRecords': {
        const bad = chunk.filter((_, i) => outcome.reasons.has(i))
        if (bad.length === 0 && chunk.length === 1) refuseAll(chunk, turn, refusal(outcome.class, outcome.code, outcome.detail), blocked)
        for (const [i, reason] of outcome.reasons)
          refuseAll(chunk.slice(i, i + 1), turn, refusal('permanent', outcome.code, reason), blocked)
        if (bad.length === 0) most = Math.max(1, Math.ceil(chunk.length / 2))
        pending = [...chunk.filter((item) => item.verdict === null), ...rest]
        break
      }
    }
  }
}

/** The longest prefix that makes one request; what is too large, or behind something refused, gets its verdict on the way. */
function cut(
  pending: readonly Item[],
  most: number,
  blocked: Set<string>,
  turn: Turn,
  sizes: SizeLimits,
  topic: string,
): { readonly chunk: readonly Item[]; readonly rest: readonly Item[] } {
  const limit = sizes.of(topic)
  const chunk: Item[] = []
  let bytes = BATCH_OVERHEAD
  let at = 0
  for (; at < pending.length && chunk.length < most; at++) {
    const item = pending[at]
    if (item === undefined) break
    const { key } = item.message
    if (key !== null && blocked.has(key)) {
      refuseAll([item], turn, behind('BEHIND_REFUSED', 'an earlier message of this topic and key was refused'))
      continue
    }
    const alone = BATCH_OVERHEAD + sizeInBatch(item.record.body, 0)
    if (alone > limit) {
      refuseAll([item], turn, sizes.refusal(topic, alone), blocked)
      continue
    }
    const size = sizeInBatch(item.record.body, chunk.length)
    if (bytes + size > limit) break
    chunk.push(item)
    bytes += size
  }
  return { chunk, rest: at === pending.length ? [] : pending.slice(at) }
}

function chunkSize(chunk: readonly Item[]): number {
  return chunk.reduce((sum, item, place) => sum + sizeInBatch(item.record.body, place), BATCH_OVERHEAD)
}

function accept(chunk: readonly Item[], outcome: Outcome & { kind: 'accepted' }, state: StreamState): void {
  const prefix = `${state.topic}/${state.partition}/`
  const first = outcome.baseOffset === null ? null : Number(outcome.baseOffset)
  for (let place = 0; place < chunk.length; place++) {
    const item = chunk[place]
    const verdict: Accepted = { kind: 'accepted', position: first === null ? null : `${prefix}${first + place}` }
    if (item !== undefined) item.verdict = verdict
  }
}

/** Gives items the same refusal; with `blocked`, what follows of their keys stays behind too. */
function refuseAll(items: readonly Item[], turn: Turn, verdict: Refused, blocked?: Set<string>): void {
  for (const item of items) {
    item.verdict = verdict
    const { key } = item.message
    if (key === null) continue
    turn.refused.add(key)
    blocked?.add(key)
  }
}
