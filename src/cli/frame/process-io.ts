import { Console } from 'node:console'
import { readFile } from 'node:fs/promises'
import type { Io } from './command.ts'

/** This process: its streams, signals and environment. From here on standard output belongs to results alone. */
export function processIo(): Io {
  const { stdout, stderr, env } = process
  const coloured = stderr.isTTY && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb'

  // Standard output belongs to results. Whatever a configuration file or a driver logs goes beside them.
  const toStderr = new Console(stderr)
  for (const method of ['log', 'info', 'debug'] as const) console[method] = toStderr[method].bind(toStderr)
  // A write that fails is reported by its own callback; without a listener the event would end the process.
  stdout.on('error', () => undefined)
  stderr.on('error', () => undefined)

  return {
    env,
    cwd: process.cwd(),
    out: (text) => new Promise((resolve, reject) => stdout.write(text, (error) => (error ? reject(error) : resolve()))),
    err: (line) => void stderr.write(`${line}\n`),
    readFile: (path) => readFile(path),
    onStopSignal: (listener) => {
      const signals = ['SIGTERM', 'SIGINT'] as const
      for (const signal of signals) process.on(signal, listener)
      return () => {
        for (const signal of signals) process.off(signal, listener)
      }
    },
    exit: (code) => process.exit(code),
    bold: (text) => (coloured ? `\u001B[1m${text}\u001B[22m` : text),
  }
}
