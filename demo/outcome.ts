// The demo's outcome: as one JSON document, as a table, and whether it is what Outrider promises.
import type { Side } from './queries.ts'
import type { SideFigures } from './talk.ts'

export const faultKinds = ['broker_stopped', 'relay_killed', 'shop_killed', 'delivered_twice', 'sessions_cut'] as const
export type FaultKind = (typeof faultKinds)[number]

export interface Outcome {
  readonly figures: Readonly<Record<Side, SideFigures>>
  /** How often each fault struck. A fault that was played and hit nothing counts 0. */
  readonly faults: Readonly<Partial<Record<FaultKind, number>>>
  readonly broker: string
  readonly database: string
  readonly seconds: number
}

/** The document of `--json`: Outrider's figures, the naive shop's under `naive`. */
export function jsonOf({ figures, faults, broker, database, seconds }: Outcome): object {
  return { ...sideJson(figures.outrider), naive: sideJson(figures.naive), faults, broker, database, seconds }
}

function sideJson(figures: SideFigures): object {
  const { committed, delivered, handled, lost, ghosts, reordered, duplicates, lateRepeats, billedTwice } = figures
  return { committed, delivered, handled, lost, ghosts, reordered, duplicates, late_repeats: lateRepeats, billed_twice: billedTwice }
}

/** What is wrong, each as a line for people; empty when the demo shows what it should. */
export function problemsOf({ figures, faults }: Outcome): string[] {
  const { outrider, naive } = figures
  const problems: string[] = []
  const zero = {
    lost: 'lost',
    ghosts: 'ghosts',
    reordered: 'out of order',
    lateRepeats: 'late repeats',
    billedTwice: 'billed twice',
  } as const
  for (const [name, words] of Object.entries(zero) as [keyof typeof zero, string][]) {
    if (outrider[name] === 0) continue
    const examples = name === 'billedTwice' ? [] : outrider.examples[name]
    problems.push(`outrider: ${words} is ${outrider[name]}${examples.length === 0 ? '' : `, such as ${examples.slice(0, 5).join(', ')}`}`)
  }
  if (outrider.committed === 0) problems.push('outrider: nothing was committed')
  if (outrider.delivered !== outrider.committed)
    problems.push(`outrider: ${outrider.delivered} delivered of ${outrider.committed} committed`)
  if (outrider.handled !== outrider.committed) problems.push(`outrider: ${outrider.handled} billed of ${outrider.committed} committed`)
  if (naive.lost + naive.ghosts + naive.reordered === 0) problems.push('naive: nothing went wrong, so the run proves nothing')
  for (const [kind, count] of Object.entries(faults)) if (count === 0) problems.push(`the fault ${kind} did not strike`)
  return problems
}

/** The table at the end of the story. */
export function tableOf({ figures: { naive, outrider } }: Outcome): string[] {
  return [
    `  ${''.padEnd(13)}naive   outrider`,
    row('committed', naive.committed, outrider.committed),
    row('lost', naive.lost, outrider.lost),
    row('ghosts', naive.ghosts, outrider.ghosts),
    row('out of order', naive.reordered, outrider.reordered),
    row('duplicates', naive.duplicates, outrider.duplicates, outrider.billedTwice === 0 ? 'all absorbed by the inbox' : ''),
    row('late repeats', naive.lateRepeats, outrider.lateRepeats),
    row('billed twice', naive.billedTwice, outrider.billedTwice),
  ]
}

const row = (label: string, left: number, right: number, remark = ''): string =>
  `  ${label.padEnd(13)}${String(left).padStart(5)}${String(right).padStart(11)}${remark === '' ? '' : `  ${remark}`}`
