// What a conformance case is: plain data and a function, for any test runner.
import assert from 'node:assert/strict'
import { OutriderError } from '../../core/index.ts'

/** One law of a contract, and how it is tried on a plug. */
export interface ConformanceCase<H> {
  readonly name: string
  /** One sentence: what holds for a plug that passes. */
  readonly proves: string
  /** What the harness must be able to do, beside the rest, for this case to run. */
  readonly needs: readonly string[]
  /** Resolves when the plug passes; throws an AssertionError that says what it did instead. */
  run(this: void, harness: H): Promise<void>
}

/** What every harness says of itself. */
export interface Harness {
  /** What this plug and its harness can do beyond the least: the names that cases have in `needs`. */
  readonly can: readonly string[]
  /** Longest wait for what a case expects, in milliseconds. @default 15000 */
  readonly patienceMs?: number
}

export interface Selection<H> {
  readonly run: readonly ConformanceCase<H>[]
  /** Cases that this harness can't run, and why. */
  readonly skipped: readonly { readonly case: ConformanceCase<H>; readonly reason: string }[]
}

/** Splits cases into those that a harness can run and those that it can't. Throws USAGE for a capability that no case needs. */
export function selectCases<H extends Harness>(cases: readonly ConformanceCase<H>[], harness: H): Selection<H> {
  const known = new Set(cases.flatMap((one) => one.needs))
  const wrong = harness.can.filter((name) => !known.has(name))
  if (wrong.length > 0) {
    throw new OutriderError('USAGE', `The harness says it can ${wrong.join(', ')}, which no case needs. Nothing was run.`, {
      hint: `Known are: ${[...known].join(', ')}.`,
    })
  }
  const missing = (one: ConformanceCase<H>): string[] => one.needs.filter((name) => !harness.can.includes(name))
  return {
    run: cases.filter((one) => missing(one).length === 0),
    skipped: cases.filter((one) => missing(one).length > 0).map((one) => ({ case: one, reason: `needs ${missing(one).join(' and ')}` })),
  }
}

/** Waits for a promise, but not for ever: a plug that hangs fails its case. */
export async function within<T>(harness: Harness, what: string, promise: Promise<T>): Promise<T> {
  const ms = harness.patienceMs ?? 15_000
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new assert.AssertionError({ message: `Not within ${ms} ms: ${what}` })), ms)
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/** The error that a call rejects with. */
export async function rejection(harness: Harness, what: string, call: () => Promise<unknown>): Promise<unknown> {
  const outcome = await within(
    harness,
    what,
    call().then(
      () => null,
      (error: unknown) => ({ error }),
    ),
  )
  assert(outcome !== null, `${what}: it resolved where it must reject`)
  return outcome.error
}
