// The embedded broker's memory: topics as lists, kept in a file so that a killed broker comes back with all that it has confirmed.
import { closeSync, existsSync, openSync, readFileSync, truncateSync, writeSync } from 'node:fs'
import type { WireRecord } from './wire.ts'

interface Entry {
  readonly topic: string
  readonly lane?: number | undefined
  readonly epoch?: number | undefined
  readonly records: readonly WireRecord[]
}

export class LogFile {
  readonly #file: number
  readonly #topics = new Map<string, WireRecord[]>()
  readonly #epochs = new Map<number, number>()

  /** Reads what is there. A line that a crash cut short was confirmed to nobody, and goes. */
  constructor(path: string) {
    const bytes = existsSync(path) ? readFileSync(path) : Buffer.alloc(0)
    const whole = bytes.lastIndexOf('\n') + 1
    if (whole < bytes.length) truncateSync(path, whole)
    for (const line of bytes.subarray(0, whole).toString('utf8').split('\n')) {
      if (line !== '') this.#take(JSON.parse(line) as Entry)
    }
    this.#file = openSync(path, 'a')
  }

  /** Offset of the first record, or null when the lane's epoch is over. Stored when this returns. */
  append(entry: Entry): number | null {
    if (entry.lane !== undefined && (entry.epoch ?? 0) < (this.#epochs.get(entry.lane) ?? 0)) return null
    const line = Buffer.from(`${JSON.stringify(entry)}\n`)
    for (let at = 0; at < line.length;) at += writeSync(this.#file, line, at)
    return this.#take(entry)
  }

  read(topic: string, from: number, most: number): readonly WireRecord[] {
    return (this.#topics.get(topic) ?? []).slice(from, from + most)
  }

  close(): void {
    closeSync(this.#file)
  }

  #take({ topic, lane, epoch, records }: Entry): number {
    const log = this.#topics.get(topic) ?? []
    this.#topics.set(topic, log)
    if (lane !== undefined) this.#epochs.set(lane, epoch ?? 0)
    const base = log.length
    for (const record of records) log.push(record)
    return base
  }
}
