// The keys of table.txt by the rule that JavaPartitions.java follows too: empty, only spaces, ASCII, wide characters, long ones, and one of 1 MiB.

export const KEYS = 10_000

export function* keys(): Generator<string> {
  let state = 1
  const below = (bound: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return (state >>> 8) % bound
  }
  const ascii = (length: number): string => text(length, () => 0x20 + below(95))
  const wide = (length: number): string =>
    text(length, () => {
      switch (below(4)) {
        case 0:
          return 0xe0 + below(0x100)
        case 1:
          return 0x3040 + below(0x60)
        case 2:
          return 0x4e00 + below(0x5000)
        default:
          return 0x1f300 + below(0x200)
      }
    })
  for (let number = 0; number < KEYS; number++) {
    if (number === 0) yield ''
    else if (number === 1) yield '   '
    else if (number === KEYS - 1) yield 'k'.repeat(1 << 20)
    else if (number % 3 === 0) yield ascii(1 + below(40))
    else if (number % 3 === 1) yield wide(1 + below(20))
    else yield ascii(200 + below(2_000))
  }
}

function text(length: number, point: () => number): string {
  return Array.from({ length }, () => String.fromCodePoint(point())).join('')
}
