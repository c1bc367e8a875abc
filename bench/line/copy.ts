// The reference of the database's side: the whole table by COPY in binary, received and thrown away.
import { Client, type Submittable } from 'pg'

interface CopyQuery {
  submit(connection: { query(text: string): void }): void
  handleCopyData(message: { chunk: Buffer }): void
  handleCommandComplete(): void
  handleReadyForQuery(): void
  handleError(error: Error): void
  handleRowDescription(): void
  handleDataRow(): void
}

export async function copyBinary(url: string): Promise<{ rows: number; seconds: number }> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    const start = performance.now()
    const rows = await new Promise<number>((resolve, reject) => {
      let count = 0
      const copy: CopyQuery = {
        submit: (connection) => connection.query('copy (select * from outrider.outbox order by seq) to stdout (format binary)'),
        handleCopyData: () => {
          count += 1
        },
        handleCommandComplete: nothing,
        // Header and trailer are pieces of their own.
        handleReadyForQuery: () => resolve(count - 1),
        handleError: reject,
        handleRowDescription: nothing,
        handleDataRow: nothing,
      }
      client.query(copy as unknown as Submittable)
    })
    return { rows, seconds: (performance.now() - start) / 1000 }
  } finally {
    await client.end()
  }
}

function nothing(): void {}
