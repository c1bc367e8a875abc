// Who may read and settle which lane: leases on the database's clock, tokens in the position rows.
import type { Grant } from '../../core/index.ts'
import type { Connection } from './connection.ts'
import type { LanePosition } from './log/lane-position.ts'
import type { Range } from './log/open-numbers.ts'
import type { Names } from './names.ts'
import { acquireLanes, forgetRelay, readGaps, releaseLanes, renewLeases, storeFence } from './queries.ts'

interface AcquiredRow {
  lane: number
  token: string
  upto: string
  ctid: string
  fence: Buffer | null
}

export interface Acquired {
  readonly grant: Grant
  readonly upto: bigint
  readonly ctid: string
  readonly gaps: readonly Range[]
}

/** Takes free lanes and reads their gap rows, which nobody else changes from then on. */
export async function acquire(
  connection: Connection,
  names: Names,
  owner: string,
  leaseMs: number,
  max: number,
  held: readonly number[],
): Promise<Acquired[]> {
  const rows = await connection.own<AcquiredRow>({ text: acquireLanes(names), values: [owner, leaseMs, max, held] })
  if (rows.length === 0) return []
  const gaps = await connection.own<{ lane: number; lo: string; hi: string }>({ text: readGaps(names), values: [rows.map((r) => r.lane)] })
  return rows.map((row) => ({
    grant: { lane: row.lane, token: BigInt(row.token), fence: row.fence },
    upto: BigInt(row.upto),
    ctid: row.ctid,
    gaps: gaps.filter((g) => g.lane === row.lane).map((g) => ({ lo: BigInt(g.lo), hi: BigInt(g.hi) })),
  }))
}

/** Extends the leases; resolves with the lanes that are ours still. */
export async function renew(connection: Connection, names: Names, owner: string, leaseMs: number, name: string): Promise<Set<number>> {
  const rows = await connection.own<{ lane: number }>({ text: renewLeases(names), values: [owner, leaseMs, name] })
  return new Set(rows.map((r) => r.lane))
}

export async function release(connection: Connection, names: Names, owner: string, lanes: readonly number[]): Promise<void> {
  await connection.own({ text: releaseLanes(names), values: [owner, lanes] })
  await connection.own({ text: forgetRelay(names), values: [owner] })
}

/** Resolves with false when the token is not ours any more. */
export async function store(connection: Connection, names: Names, position: LanePosition, fence: Uint8Array): Promise<boolean> {
  const rows = await connection.own<{ ctid: string }>({
    text: storeFence(names),
    values: [position.lane, position.token.toString(), Buffer.from(fence)],
  })
  if (rows[0] === undefined) return false
  position.ctid = rows[0].ctid
  return true
}
