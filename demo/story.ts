// What the demo tells while it runs: plain lines, with a little weight on the faults where the terminal can show it.
import { styleText } from 'node:util'

export interface Story {
  /** A line of its own, without a time. */
  say(text: string): void
  /** From now on the clock of the story runs. */
  begin(): void
  /** A line with the time since the beginning. */
  tell(text: string, weight?: 'fault' | 'plain'): void
}

export function createStory(stream: NodeJS.WriteStream): Story {
  let startedMs = performance.now()
  const write = (text: string): void => void stream.write(`${text}\n`)
  return {
    say: write,
    begin: () => void (startedMs = performance.now()),
    tell(text, weight = 'plain') {
      const line = ` ${clockText(performance.now() - startedMs)}  ${text}`
      write(weight === 'fault' ? styleText('bold', line, { stream }) : line)
    },
  }
}

/** `00:06` */
function clockText(ms: number): string {
  const seconds = Math.floor(ms / 1000)
  return `${String(Math.floor(seconds / 60)).padStart(2, '0')}:${String(seconds % 60).padStart(2, '0')}`
}
