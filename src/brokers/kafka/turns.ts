// Who goes first where two calls must not overlap. A call that had to wait knows which keys the ones before it failed to deliver: behind those it mustn't
// deliver anything, or the later message of a key would be accepted while the earlier one is not.
import type { Call } from './call.ts'

export class Turns {
  readonly #unfinished = new Set<Turn>()

  /** Takes the next turn. Turns of the same `kind` go together; `null` goes with none. */
  take(kind: number | null): Turn {
    const ahead = [...this.#unfinished]
    const mayGo = kind !== null && ahead.every((turn) => turn.kind === kind && turn.hasBegun)
    const turn = new Turn(kind, mayGo ? [] : ahead, () => this.#unfinished.delete(turn))
    this.#unfinished.add(turn)
    return turn
  }
}

export class Turn {
  readonly kind: number | null
  /** Keys of messages of this turn that were not accepted. */
  readonly refused = new Set<string>()
  readonly #ahead: readonly Turn[]
  readonly #forget: () => void
  readonly #done: Promise<void>
  #finish: () => void = () => {}
  #hasBegun = false

  constructor(kind: number | null, ahead: readonly Turn[], forget: () => void) {
    this.kind = kind
    this.#ahead = ahead
    this.#forget = forget
    this.#hasBegun = ahead.length === 0
    this.#done = new Promise((resolve) => (this.#finish = resolve))
  }

  get hasBegun(): boolean {
    return this.#hasBegun
  }

  /** Waits for those ahead. Resolves with the keys that they didn't deliver, or with null when the call's time was up before. */
  async begin(call: Call): Promise<ReadonlySet<string> | null> {
    if (this.#ahead.length === 0) return none
    if ((await call.within(Promise.all(this.#ahead.map((turn) => turn.#done)))) === null) return null
    this.#hasBegun = true
    return new Set(this.#ahead.flatMap((turn) => [...turn.refused]))
  }

  end(): void {
    this.#forget()
    this.#finish()
  }
}

const none: ReadonlySet<string> = new Set()
