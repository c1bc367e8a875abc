/** ` (did you mean X?)`, or nothing when no known name is near. */
export function didYouMean(name: string, known: Iterable<string>): string {
  const best = nearest(name, known)
  return best === null ? '' : ` (did you mean ${best}?)`
}

/** The known name that needs the fewest edits, null when none is near. Case and the marks between words don't count. */
export function nearest(name: string, known: Iterable<string>): string | null {
  const wanted = plain(name)
  let best: string | null = null
  let least = Math.max(2, Math.floor(wanted.length / 3)) + 1
  for (const candidate of known) {
    const edits = distance(wanted, plain(candidate))
    if (edits < least) {
      best = candidate
      least = edits
    }
  }
  return best
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
}

/** Levenshtein's distance, one row at a time. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}
