// Writing down how far the lanes are: one statement for all of them.
import type { Connection } from '../connection.ts'
import type { Names } from '../names.ts'
import { settle } from '../queries.ts'
import type { LanePlan, LanePosition } from './lane-position.ts'

export interface Planned {
  readonly position: LanePosition
  readonly plan: LanePlan
}

/**
 * Applies the plans. Resolves with the lanes that changed nothing because their token is not ours any more.
 * A position row that moved (a fence was stored, the table was rewritten) isn't found at its old place: those lanes, with only
 * their own deltas, are looked up by number once more before the lease counts as lost.
 */
export async function writePlans(
  connection: Connection,
  names: Names,
  planned: readonly Planned[],
  nowMs: () => number,
  compareToken = true,
): Promise<number[]> {
  const moved = await run(connection, planned, 'settle', settle(names, true, compareToken), nowMs)
  if (moved.length === 0) return []
  return (await run(connection, moved, 'settle moved', settle(names, false, compareToken), nowMs)).map((p) => p.position.lane)
}

async function run(
  connection: Connection,
  planned: readonly Planned[],
  name: string,
  text: string,
  nowMs: () => number,
): Promise<Planned[]> {
  const rows = await connection.read<{ lane: number; ctid: string }>({ name, text, values: parameters(planned) })
  const places = new Map(rows.map((r) => [r.lane, r.ctid]))
  const missed: Planned[] = []
  for (const p of planned) {
    const ctid = places.get(p.position.lane)
    if (ctid === undefined) missed.push(p)
    else p.position.apply(p.plan, ctid, nowMs())
  }
  return missed
}

function parameters(planned: readonly Planned[]): unknown[] {
  const gone: [number[], string[]] = [[], []]
  const born: [number[], string[], string[]] = [[], [], []]
  const shrunk: [number[], string[], string[]] = [[], [], []]
  for (const { position, plan } of planned) {
    for (const lo of plan.gone) {
      gone[0].push(position.lane)
      gone[1].push(lo.toString())
    }
    for (const [columns, ranges] of [
      [born, plan.born],
      [shrunk, plan.shrunk],
    ] as const) {
      for (const range of ranges) {
        columns[0].push(position.lane)
        columns[1].push(range.lo.toString())
        columns[2].push(range.hi.toString())
      }
    }
  }
  return [
    planned.map((p) => p.position.lane),
    planned.map((p) => p.position.token.toString()),
    planned.map((p) => p.plan.upto.toString()),
    planned.map((p) => p.position.ctid),
    ...gone,
    ...born,
    ...shrunk,
  ]
}
