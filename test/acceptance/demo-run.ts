// Runs the demo as a child, as a user would, and finds what it leaves behind.
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'

const ownMain = fileURLToPath(new URL('../../demo/main.ts', import.meta.url))

export interface Run {
  readonly pid: number
  readonly firstLineMs: number
  readonly code: number | null
  readonly out: string
  readonly errors: string
}

interface Around {
  /** Another copy's `main.ts`. */
  readonly main?: string
  readonly brokers?: readonly string[]
  /** Told of all that was written so far, each time that there is more. */
  onText?(text: string, kill: (signal: NodeJS.Signals) => void): void
}

export function demo(args: string[], databaseUrl: string, around: Around = {}): Promise<Run> {
  return new Promise((resolve, reject) => {
    const startedMs = performance.now()
    const child = spawn(process.execPath, [around.main ?? ownMain, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, OUTRIDER_TEST_DATABASE_URL: databaseUrl, KAFKA_BROKERS: around.brokers?.join(',') ?? '' },
    })
    let firstLineMs = Infinity
    let out = ''
    let errors = ''
    const heard = (): void => {
      if ((out + errors).includes('\n')) firstLineMs = Math.min(firstLineMs, performance.now() - startedMs)
      around.onText?.(out + errors, (signal) => void child.kill(signal))
    }
    child.stdout.on('data', (piece: Buffer) => {
      out += piece.toString()
      heard()
    })
    child.stderr.on('data', (piece: Buffer) => {
      errors += piece.toString()
      heard()
    })
    child.once('error', reject)
    child.once('close', (code) => resolve({ pid: child.pid ?? 0, firstLineMs, code, out, errors }))
  })
}

/** Folders and processes of a demo that are still there. Processes are found by the demo's paths. Linux only; elsewhere folders alone. */
export function leftOf(pid: number): string[] {
  const folders = readdirSync(tmpdir()).filter((name) => name.startsWith(`outrider-${pid}-`))
  const processes =
    process.platform !== 'linux' ? [] : readdirSync('/proc').filter((id) => /^\d+$/.test(id) && commandOf(id).includes(`outrider-${pid}-`))
  return [...folders, ...processes.map((id) => `${id} ${commandOf(id)}`)]
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
  } catch {
    return ''
  }
}
