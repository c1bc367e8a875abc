/** Least number of insertions, deletions, replacements and swaps of neighbours that turn `a` into `b` (optimal string alignment). */
function distance(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      let least = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + (same ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) least = Math.min(least, (beforeLast[j - 2] ?? 0) + 1)
      row.push(least)
    }
    beforeLast = last
    last = row
  }
  return last[b.length] ?? 0
}

/** The name that was probably meant, for "did you mean"; `undefined` when none is near. Case, dots and underscores don't count. */
export function nearest(name: string, names: Iterable<string>): string | undefined {
  const wanted = plain(name)
  let best: string | undefined
  let bestDistance = Math.max(1, Math.floor(wanted.length / 3)) + 1
  for (const candidate of names) {
    const d = distance(wanted, plain(candidate))
    if (d < bestDistance) [best, bestDistance] = [candidate, d]
  }
  return best
}

/** ` (did you mean X?)`, or nothing when no known name is near. */
export function didYouMean(name: string, known: Iterable<string>): string {
  const best = nearest(name, known)
  return best === undefined ? '' : ` (did you mean ${best}?)`
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[._\s]/g, '')
}
