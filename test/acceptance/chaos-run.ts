// Runs `npm run chaos` as a user would.
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export interface ChaosRun {
  readonly code: unknown
  readonly document: Readonly<Record<string, unknown>>
  /** What it told on standard error. */
  readonly story: string
}

export function chaos(...words: string[]): Promise<ChaosRun> {
  const main = fileURLToPath(new URL('../../chaos/main.ts', import.meta.url))
  return new Promise((resolve) => {
    execFile(process.execPath, ['--disable-warning=ExperimentalWarning', main, ...words, '--json'], (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, document: JSON.parse(stdout || '{}') as Record<string, unknown>, story: stderr }),
    )
  })
}
