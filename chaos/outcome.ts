// From what the run found to what it says: the JSON document, the lines for people, and whether it is right.
import type { DeliveryFigures } from '../src/testing/checker.ts'

export interface Evidence {
  readonly seed: number
  readonly seconds: number
  readonly relays: number
  readonly lanes: number
  readonly broken: string | null
  /** That ended while faults happened, in whatever way. */
  readonly transactions: number
  readonly kinds: Readonly<Record<string, number>>
  readonly figures: DeliveryFigures
  readonly handled: number
  readonly handledTwice: number
  /** Every kind that was asked for, with how often it struck. */
  readonly faults: Readonly<Record<string, number>>
  readonly rss: readonly { readonly atMs: number; readonly ageMs: number; readonly bytes: number }[]
  readonly problems: readonly string[]
}

/** A process that has just started says nothing of what it comes to need. */
const grownUpMs = 30_000

export function documentOf(evidence: Evidence): Record<string, unknown> {
  const { figures } = evidence
  const problems = problemsOf(evidence)
  return {
    committed: figures.committed,
    delivered: figures.delivered,
    handled: evidence.handled,
    lost: figures.lost,
    ghosts: figures.ghosts,
    reordered: figures.reordered,
    duplicates: figures.duplicates,
    late_repeats: figures.lateRepeats,
    faults: evidence.faults,
    failed: figures.failed,
    waiting: figures.waiting,
    rss: rssOf(evidence),
    seconds: Math.round(evidence.seconds * 10) / 10,
    seed: evidence.seed,
    relays: evidence.relays,
    lanes: evidence.lanes,
    ...(evidence.broken === null ? {} : { break: evidence.broken }),
    transactions: evidence.transactions,
    transactions_per_s: Math.round(evidence.transactions / evidence.seconds),
    kinds: evidence.kinds,
    ...(problems.length === 0 ? {} : { problems, examples: figures.examples }),
  }
}

export function problemsOf({ figures, handled, handledTwice, faults, problems }: Evidence): string[] {
  const wrong = [...problems]
  const must = (what: string, found: number, right: number): void => {
    if (found !== right) wrong.push(`${what} is ${found}, and should be ${right}`)
  }
  must('lost', figures.lost, 0)
  must('ghosts', figures.ghosts, 0)
  must('reordered', figures.reordered, 0)
  must('late_repeats', figures.lateRepeats, 0)
  must('failed', figures.failed, 0)
  must('waiting', figures.waiting, 0)
  must('handled', handled, figures.delivered)
  must('handled twice', handledTwice, 0)
  if (figures.committed === 0) wrong.push('nothing was committed')
  for (const [kind, times] of Object.entries(faults)) if (times === 0) wrong.push(`${kind} was asked for and never struck`)
  return wrong
}

/** Mean of relay processes in MB in the first and in the last third; null when none was old enough. */
function rssOf({ rss, seconds }: Evidence): { readonly first_third: number | null; readonly last_third: number | null } {
  const third = (seconds * 1_000) / 3
  const mean = (from: number, to: number): number | null => {
    const found = rss.filter(({ atMs, ageMs }) => ageMs > grownUpMs && atMs >= from && atMs < to)
    return found.length === 0 ? null : Math.round(found.reduce((sum, { bytes }) => sum + bytes, 0) / found.length / 100_000) / 10
  }
  return { first_third: mean(0, third), last_third: mean(2 * third, 3 * third) }
}

const shown = (one: unknown): string => (typeof one === 'object' && one !== null ? JSON.stringify(one) : String(one))

export function textOf(evidence: Evidence): string {
  const rows = Object.entries(documentOf(evidence)).filter(([name]) => name !== 'problems')
  const width = Math.max(...rows.map(([name]) => name.length))
  return [
    `chaos`,
    ...rows.map(([name, one]) => ` ${name.padEnd(width)}  ${shown(one)}`),
    ...problemsOf(evidence).map((one) => ` WRONG  ${one}`),
  ].join('\n')
}
