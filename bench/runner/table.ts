import type { BenchResult } from './bench.ts'

/** The result for people. */
export function tableOf(name: string, result: BenchResult): string {
  const sections: [string, Readonly<Record<string, string | number | boolean>>][] = [
    ['setting', result.setting ?? {}],
    ['figures', result.figures],
    ['ratios', result.ratios],
  ]
  const rows = sections.flatMap(([, values]) => Object.keys(values))
  const width = Math.max(0, ...rows.map((row) => row.length))
  const lines = [`bench ${name}`]
  for (const [title, values] of sections) {
    const entries = Object.entries(values)
    if (entries.length === 0) continue
    lines.push(` ${title}`, ...entries.map(([key, value]) => `  ${key.padEnd(width)}  ${shown(value)}`))
  }
  for (const missed of result.missed ?? []) lines.push(` missed: ${missed}`)
  return lines.join('\n')
}

function shown(value: string | number | boolean): string {
  if (typeof value !== 'number') return String(value)
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 3
  return value.toLocaleString('en-US', { maximumFractionDigits: digits })
}
