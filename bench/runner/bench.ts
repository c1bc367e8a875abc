/** One benchmark: the file `bench/NAME.ts` exports it as `bench`. */
export interface Bench {
  /** What is measured against what, in one line. */
  readonly summary: string
  /** Measures. Stops what it started, also when it throws. */
  run(context: BenchContext): Promise<BenchResult>
}

export interface BenchContext {
  /** Tells people how far it is; goes to standard error. */
  progress(text: string): void
  /** Aborts at SIGINT and SIGTERM. */
  readonly signal: AbortSignal
}

export interface BenchResult {
  /** What was measured, the unit at the end of the name: `events_per_s`, `cpu_us_per_event`, `rss_mb`. */
  readonly figures: Readonly<Record<string, number>>
  /** Quotients of figures of this same run: comparable from machine to machine. */
  readonly ratios: Readonly<Record<string, number>>
  /** How it was measured: versions, sizes, counts. */
  readonly setting?: Readonly<Record<string, string | number | boolean>>
  /** Aims that were missed, in words. They are told; the exit code stays 0 unless the measurement itself was wrong. */
  readonly missed?: readonly string[]
}
