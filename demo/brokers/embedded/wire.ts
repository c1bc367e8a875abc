// What goes over the embedded broker's socket: one JSON object a line, each answer with its request's number.

/** A record of a topic; its offset is its place. Bytes travel as base64, so that they arrive as they are. */
export interface WireRecord {
  readonly key: string | null
  readonly value: string | null
  readonly headers: Readonly<Record<string, string>>
}

export type WireRequest =
  /** All of the records are stored, or none. With a lane, an epoch below the lane's newest is refused. */
  | {
      readonly op: 'append'
      readonly topic: string
      readonly lane?: number
      readonly epoch?: number
      readonly records: readonly WireRecord[]
    }
  /** Answers at once when there is something from offset `from` on, else after a moment. */
  | { readonly op: 'read'; readonly topic: string; readonly from: number }
  | { readonly op: 'check' }

export type WireAnswer =
  | { readonly ok: true; readonly records?: readonly WireRecord[]; /** Offset of the first record. */ readonly base?: number }
  | { readonly ok: false; readonly code: 'FENCED' | 'INVALID' }

/** Cuts a stream of text into its lines. What follows the last line end waits for the next piece. */
export function lineCutter(onLine: (line: string) => void): (piece: string) => void {
  let rest = ''
  return (piece) => {
    const lines = (rest + piece).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) onLine(line)
  }
}
