// Removing what is settled. The DELETE itself decides: whatever was read before it may be out of date.
import type { PgClient } from './client.ts'
import type { Names } from './names.ts'
import { deleteSettledRows } from './queries.ts'

/**
 * Deletes those of the candidates that are settled for every lane, in one statement. Parked messages are copies: they need no row here.
 *
 * @param candidates numbers of rows that somebody would like to be rid of, some thousands at most
 * @returns how many rows were deleted
 */
export async function deleteSettled(client: PgClient, names: Names, candidates: readonly bigint[]): Promise<number> {
  if (candidates.length === 0) return 0
  const { rowCount } = await client.query(deleteSettledRows(names), [candidates.map(String)])
  return rowCount ?? 0
}
