import type { Flags, FlagValues } from './flags.ts'

/** The process as a command sees it; tests bring their own. */
export interface Io {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  /** Resolves when the text has been taken; rejects with EPIPE when nobody reads any more. */
  out(text: string | Uint8Array): Promise<void>
  /** A line for people. */
  err(line: string): void
  readFile(path: string): Promise<Uint8Array>
  /** Calls back for each SIGTERM and SIGINT until the returned function is called. */
  onStopSignal(listener: (signal: string) => void): () => void
  /** Ends the process at once, whatever is under way. */
  exit(code: number): void
  /** Marks the code of an error on a terminal. */
  bold(text: string): string
}

export interface CommandContext<F extends Flags> {
  readonly flags: FlagValues<F>
  readonly operands: readonly string[]
  readonly json: boolean
  readonly io: Io
}

/** What a command comes to. The frame prints it: the document under `--json`, the text otherwise. */
export type Outcome =
  | { readonly kind: 'result'; readonly document: unknown; readonly text: string; readonly code?: ExitCode }
  /** The output is data by itself, with `--json` and without. */
  | { readonly kind: 'data'; readonly chunks: Iterable<string | Uint8Array> }

/** 0 done; 1 a check failed; 2 usage or configuration; 3 a server can't be reached. */
export type ExitCode = 0 | 1 | 2 | 3

export interface Command<F extends Flags = Flags> {
  /** What it does, for its own help: a few lines. */
  readonly about: string
  readonly flags: F
  /** Names of what follows the command: `['FILE.csv']`. All are required. */
  readonly operands?: readonly string[]
  /** Its output is data: an error puts nothing on standard output, with `--json` neither. */
  readonly givesData?: boolean
  run(context: CommandContext<F>): Promise<Outcome>
}

/** Types the flags of a command for its `run`. */
export function defineCommand<const F extends Flags>(command: Command<F>): Command {
  return command
}
