// COPY ... FROM STDIN with the plain `pg` client: the driver leaves that message to whoever sends the query.
import type pg from 'pg'

interface Wire {
  query(text: string): void
  sendCopyFromChunk(data: Buffer): void
  endCopyFrom(): void
}

/** Runs a COPY whose whole input is `data`, in the client's transaction. */
export function copyFrom(client: pg.Client, sql: string, data: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let failed: Error | null = null
  const copy = {
    submit: (wire: Wire) => wire.query(sql),
    handleCopyInResponse(wire: Wire) {
      wire.sendCopyFromChunk(Buffer.from(data))
      wire.endCopyFrom()
    },
    handleCommandComplete() {},
    handleError(error: Error) {
      failed = error
      reject(error)
    },
    handleReadyForQuery() {
      if (failed === null) resolve()
    },
  }
  client.query(copy as unknown as pg.Submittable)
  return promise
}
