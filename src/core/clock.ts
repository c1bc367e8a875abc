/** Time inside the process. Leases, due times and retention never use it: they live on the database's clock. */
export interface Clock {
  /** Milliseconds that only go forward; no relation to the wall clock. */
  monotonicMs(): number
  /** Milliseconds since 1970 by the wall clock; for timestamps on records and in logs, never for a decision. */
  wallMs(): number
  /** Resolves after `ms`, or at once when `signal` aborts; never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}
