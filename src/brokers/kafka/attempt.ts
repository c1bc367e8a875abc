// Gets one batch to the leader of its partition within the call's time, and says what came of it. As soon as one try may have been written, the batch is
// frozen: only the broker's word that it has these very sequence numbers ends the doubt.
import { textOf } from '../../core/index.ts'
import type { Clock, Refused } from '../../core/index.ts'
import type { Call } from './call.ts'
import { findingOf, nameOf } from './classify.ts'
import type { Cluster, TopicProblem } from './cluster.ts'
import type { KafkaSettings } from './options.ts'
import type { LaneIdentity } from './fence.ts'
import { refusal } from './refusal.ts'
import { NotSent, textOfAddress } from './wire.ts'
import type { Link, ProduceAnswer, WireRecord } from './wire.ts'

/** Where a stream stands; belongs to one fence. */
export interface StreamState {
  readonly lane: { readonly number: number; readonly identity: LaneIdentity; readonly isRetired: boolean }
  readonly topic: string
  readonly partition: number
  /** Of the next record. */
  sequence: number
  /** Offset of the last record that was accepted. */
  lastOffset: bigint
  /** Something may have been written that isn't counted in `sequence`. */
  isDoubtful: boolean
}

export interface Tools {
  readonly settings: KafkaSettings
  readonly cluster: Cluster
  readonly clock: Clock
  /** Pauses that brokers asked for, on the clock's time. */
  readonly pauses: WeakMap<Link, number>
  isClosed(): boolean
  /** The lane's producer id is of no use any more. */
  spend(producerId: bigint): void
}

export type Outcome =
  /** `baseOffset` null: the broker has the batch, and doesn't say where. */
  | { readonly kind: 'accepted'; readonly baseOffset: bigint | null }
  /** Certainly not written, and the next try would fare the same. */
  | { readonly kind: 'refused'; readonly refusal: Refused }
  | { readonly kind: 'unknown'; readonly code: string; readonly detail: string }
  | { readonly kind: 'tooLarge' }
  /** Refused as a whole because of records in it: by place, or none named. */
  | {
      readonly kind: 'badRecords'
      readonly class: Refused['class']
      readonly code: string
      readonly detail: string
      readonly reasons: ReadonlyMap<number, string>
    }

/** Share of the publish time below which no try is begun: its answer would come too late. */
const LEAST_SHARE = 0.4
/** A topic that was just made is missing on some brokers for a moment. */
const FRESH_TOPIC_MS = 500
const ASK_AGAIN_MS = 1_000

export async function attempt(state: StreamState, records: readonly WireRecord[], call: Call, tools: Tools): Promise<Outcome> {
  const { topic, partition, lane } = state
  const place = `${topic}/${partition}`
  const least = tools.settings.publishTimeoutMs * LEAST_SHARE
  let doubt: { readonly code: string; readonly detail: string } | null = null
  let last = refusal('throttled', 'NO_TIME_LEFT', `no time was left for a try at ${place}`)
  for (let tries = 0; ; tries++) {
    if (tries > 0) await call.pause(Math.min(20 * 2 ** tries, 250))
    if (lane.isRetired) last = refusal('throttled', 'LANE_MOVED', 'the lane has a newer fence')
    if (tools.isClosed()) last = refusal('unavailable', 'CLOSED', 'the publisher is closed')
    if (lane.isRetired || tools.isClosed() || call.isAborted || call.leftMs < least) return doubt === null ? refused(last) : unknown(doubt)

    const found = await leaderOf(state, call, tools)
    if ('problem' in found) {
      last = found.problem
      if (found.isFinal && doubt === null) return refused(last)
      continue
    }
    const { link } = found
    const pausedMs = (tools.pauses.get(link) ?? 0) - tools.clock.monotonicMs()
    if (pausedMs > 0) {
      last = refusal(
        'throttled',
        'THROTTLING_QUOTA_EXCEEDED',
        `${textOfAddress(link.address)} reads no more for ${Math.ceil(pausedMs)} ms`,
        pausedMs,
      )
      if (call.leftMs - pausedMs < least) return doubt === null ? refused(last) : unknown(doubt)
      await call.pause(pausedMs)
    }
    // Much may have happened while it waited for a connection.
    if (lane.isRetired || call.isAborted || call.leftMs < least) continue

    let answer: ProduceAnswer
    try {
      const timeoutMs = Math.max(1, Math.floor(call.leftMs * 0.9))
      const request = { topic, partition, records, ...lane.identity, sequence: state.sequence, timeoutMs }
      const inTime = await call.within(link.produce(request))
      if (inTime === null) {
        // Others wait on this connection too, and as long.
        if (!call.isAborted) {
          link.destroy()
          tools.cluster.suspect(topic, link.address)
        }
        return unknown({ code: 'NO_ANSWER', detail: `${textOfAddress(link.address)} gave no answer for ${place} in time` })
      }
      answer = inTime.value
    } catch (error) {
      if (error instanceof NotSent) last = refusal('unavailable', 'CONNECTION_LOST', error.message)
      else {
        link.destroy()
        doubt = {
          code: 'CONNECTION_LOST',
          detail: `${textOfAddress(link.address)}: ${textOf(error)}; the batch for ${place} may have been written`,
        }
      }
      await tools.cluster.renewed(topic, call)
      continue
    }

    if (answer.throttleMs > 0) tools.pauses.set(link, tools.clock.monotonicMs() + answer.throttleMs)
    const code = nameOf(answer.errorCode)
    const detail = `${textOfAddress(link.address)} answered ${code} for ${place}${answer.errorMessage === null ? '' : `: ${answer.errorMessage}`}`
    const finding = findingOf(answer.errorCode)
    switch (finding) {
      case 'accepted':
        if (answer.baseOffset <= state.lastOffset) {
          return unknown({
            code: 'BROKER_ANSWER_INVALID',
            detail: `${textOfAddress(link.address)} accepted a batch for ${place} at offset ${answer.baseOffset}, where the last one ended at ${state.lastOffset}`,
          })
        }
        advance(state, records.length)
        state.lastOffset = answer.baseOffset + BigInt(records.length - 1)
        return { kind: 'accepted', baseOffset: answer.baseOffset }
      case 'repeat':
        // Only a try of ours can have used these numbers before; without one, somebody else has, and what they hold isn't this batch.
        if (doubt === null) {
          tools.spend(lane.identity.producerId)
          return unknown({ code, detail })
        }
        advance(state, records.length)
        return { kind: 'accepted', baseOffset: null }
      case 'spent':
        tools.spend(lane.identity.producerId)
        return unknown({ code, detail })
      case 'uncertain':
        doubt = { code, detail }
        break
      case 'stale':
        last = refusal('unavailable', code, detail)
        await tools.cluster.renewed(topic, call)
        break
      case 'missing':
        last = refusal('unavailable', code, detail)
        await tools.cluster.renewed(topic, call)
        break
      case 'busy':
        last = refusal('unavailable', code, detail)
        break
      case 'throttled':
        last = refusal('throttled', code, detail, answer.throttleMs)
        if (doubt === null) return refused(last)
        break
      case 'tooLarge':
        return doubt === null ? { kind: 'tooLarge' } : unknown(doubt)
      case 'badRecord': {
        if (doubt !== null) return unknown(doubt)
        const reasons = new Map(answer.recordErrors.map((one) => [one.index, `${detail}${one.message === null ? '' : `: ${one.message}`}`]))
        return { kind: 'badRecords', class: code === 'CORRUPT_MESSAGE' ? 'transient' : 'permanent', code, detail, reasons }
      }
      case 'topicRefused':
        return doubt === null ? refused(refusal('permanent', code, detail)) : unknown(doubt)
      case 'forbidden':
        return doubt === null ? refused(forbidden(code, detail)) : unknown(doubt)
    }
  }
}

type Found = { readonly link: Link } | { readonly problem: Refused; readonly isFinal: boolean }

async function leaderOf(state: StreamState, call: Call, tools: Tools): Promise<Found> {
  const { topic, partition } = state
  let problem: Refused
  try {
    const answer = await call.within(tools.cluster.leader(topic, partition, state.lane.number % tools.settings.connectionsPerBroker))
    if (answer === null)
      return {
        problem: refusal('unavailable', 'BROKER_UNREACHABLE', `no connection to the leader of ${topic}/${partition} in time`),
        isFinal: false,
      }
    if (answer.value !== null) return { link: answer.value }
    problem = refusal('unavailable', 'LEADER_NOT_AVAILABLE', `${topic}/${partition} has no leader now`)
  } catch (error) {
    problem = refusal('unavailable', 'BROKER_UNREACHABLE', textOf(error))
  }
  const renewed = await tools.cluster.renewed(topic, call)
  if ('leaders' in renewed || renewed.kind === 'stale' || renewed.kind === 'unreachable') return { problem, isFinal: false }
  return problemOf(renewed, topic, tools)
}

/** What a topic that can't be used means for its messages; not final while it may only be too fresh. */
export function problemOf(problem: TopicProblem, topic: string, tools: Tools): { readonly problem: Refused; readonly isFinal: boolean } {
  switch (problem.kind) {
    case 'missing': {
      const missingMs = tools.cluster.missingForMs(topic)
      const grace = tools.settings.unknownTopicGraceMs
      if (missingMs >= grace) {
        const detail = `${problem.detail}, and has been missing for ${Math.round(missingMs / 1_000)} s; Outrider never makes a topic`
        return { problem: refusal('permanent', problem.code, detail), isFinal: true }
      }
      return {
        problem: refusal('throttled', problem.code, problem.detail, Math.min(ASK_AGAIN_MS, grace)),
        isFinal: missingMs >= FRESH_TOPIC_MS,
      }
    }
    case 'refused':
      return { problem: refusal('permanent', problem.code, problem.detail), isFinal: true }
    case 'forbidden':
      return { problem: forbidden(problem.code, problem.detail), isFinal: true }
    case 'stale':
    case 'unreachable':
      return { problem: refusal('unavailable', problem.code, problem.detail), isFinal: false }
  }
}

/** A right for one topic concerns its messages; a right for the cluster concerns everything. */
function forbidden(code: string, detail: string): Refused {
  return refusal(code === 'CLUSTER_AUTHORIZATION_FAILED' ? 'unavailable' : 'transient', code, detail)
}

/** Sequence numbers go from 0 to 2^31 - 1 and start again. */
function advance(state: StreamState, records: number): void {
  state.sequence = (state.sequence + records) % 0x80000000
}

function refused(verdict: Refused): Outcome {
  return { kind: 'refused', refusal: verdict }
}

function unknown(doubt: { readonly code: string; readonly detail: string }): Outcome {
  return { kind: 'unknown', ...doubt }
}
