/** Chances that a seed repeats. */
export interface Random {
  /** In [0, 1). */
  next(): number
  between(least: number, most: number): number
  chance(share: number): boolean
  pick<T>(from: readonly T[]): T
  shuffled<T>(from: readonly T[]): T[]
}

/** @param what several streams of one seed: what one draws leaves the others as they are */
export function createRandom(seed: number, what: string): Random {
  let state = seed | 0
  for (const letter of what) state = Math.imul(state ^ (letter.codePointAt(0) ?? 0), 0x9e3779b1)
  // mulberry32
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
  return {
    next,
    between: (least, most) => least + next() * (most - least),
    chance: (share) => next() < share,
    pick: (from) => from[Math.floor(next() * from.length)]!,
    shuffled: (from) =>
      from
        .map((one) => ({ one, at: next() }))
        .toSorted((a, b) => a.at - b.at)
        .map(({ one }) => one),
  }
}
