import type { Io } from '../../../src/cli/frame/command.ts'

export interface RecordingIo extends Io {
  readonly stdout: () => string
  readonly stderr: () => string
  readonly signal: (name: string) => void
}

/** An Io in memory. `files` are found by any path that ends in their name. */
export function recordingIo(
  options: { env?: Record<string, string>; cwd?: string; files?: Record<string, string | Uint8Array> } = {},
): RecordingIo {
  const out: Uint8Array[] = []
  const err: string[] = []
  const listeners = new Set<(signal: string) => void>()
  return {
    env: options.env ?? {},
    cwd: options.cwd ?? '/nowhere',
    out: (text) => {
      out.push(Buffer.from(text))
      return Promise.resolve()
    },
    err: (line) => void err.push(line),
    readFile: (path) => {
      const found = Object.entries(options.files ?? {}).find(([name]) => path.endsWith(name))
      return found === undefined ? Promise.reject(new Error(`ENOENT: no such file ${path}`)) : Promise.resolve(Buffer.from(found[1]))
    },
    onStopSignal: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    exit: () => undefined,
    bold: (text) => text,
    stdout: () => Buffer.concat(out).toString(),
    stderr: () => err.join('\n'),
    signal: (name) => listeners.forEach((listener) => listener(name)),
  }
}
