// A contestant is a process of its own, so that its CPU and memory are its own.
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export interface Task {
  readonly database: string
  readonly brokers: string[]
  readonly topic: string
  readonly events: number
  readonly partitions: number
}

/** What a contestant measured of itself. */
export interface Measured {
  readonly events: number
  readonly seconds: number
  readonly cpuUs: number
  readonly rssMb: number
}

/** For all alike: on a machine with much memory Node lets garbage pile up, and the size of the process says little. */
const youngSpace = ['--max-semi-space-size=8']

/** Runs one of the files beside this one; resolves with what it measured. */
export async function contest(file: 'relay.ts' | 'bare.ts' | 'producer.ts', task: Task): Promise<Measured> {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), [JSON.stringify(task)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    execArgv: youngSpace,
  })
  return new Promise((resolve, reject) => {
    let measured: Measured | null = null
    child.on('message', (message) => {
      measured = message as Measured
    })
    child.on('error', reject)
    child.on('exit', (code) => {
      if (code === 0 && measured !== null) resolve(measured)
      else reject(new Error(`${file} ended with ${code}`))
    })
  })
}

/** Called by a contestant: measures from the call to `stop`. */
export function stopwatch() {
  const cpu = process.cpuUsage()
  const start = performance.now()
  return (events: number): Measured => {
    const { user, system } = process.cpuUsage(cpu)
    return { events, seconds: (performance.now() - start) / 1000, cpuUs: user + system, rssMb: process.resourceUsage().maxRSS / 1024 }
  }
}

export function taskOf(argv: readonly string[]): Task {
  return JSON.parse(argv[2]!) as Task
}

/** Hands the result over and ends the process. */
export function report(measured: Measured): void {
  process.send!(measured, () => process.exit(0))
}
