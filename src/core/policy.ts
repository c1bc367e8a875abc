/** How refused messages are tried again. */
export interface RetryPolicy {
  /** Refusals of one message before it is `failed`. Raise it when refusals heal by themselves slowly. @default 10 */
  readonly maxAttempts: number
  /** Longest pause before the second try, in milliseconds; doubles with each attempt. @default 100 */
  readonly firstDelayMs: number
  /** Longest pause of all, in milliseconds, also for a pause that a broker asks for. @default 30000 */
  readonly maxDelayMs: number
}

export const defaultRetryPolicy: RetryPolicy = { maxAttempts: 10, firstDelayMs: 100, maxDelayMs: 30_000 }
