import { readFile } from 'node:fs/promises'
import { csvRows, decodeCsv } from '../src/cli/fixtures/csv.ts'

export interface Order {
  readonly id: string
  readonly client: string
  readonly item: string
  readonly note: string | null
  readonly total: string
  /** The shop changes its mind: the transaction ends in ROLLBACK. 1 order of 8. */
  readonly rollsBack: boolean
}

/** The orders of orders.csv, in its order. */
export async function readOrders(): Promise<Order[]> {
  const rows = [...csvRows(decodeCsv(await readFile(new URL('orders.csv', import.meta.url))))].slice(1)
  return rows.map((row, i) => {
    const [id, client, item, note, total] = row.map((cell) => cell.text)
    return { id: id ?? '', client: client ?? '', item: item ?? '', note: note ?? null, total: total ?? '', rollsBack: i % 8 === 7 }
  })
}
