import type { Message } from './message.ts'
import type { Refused } from './verdict.ts'

/** The outcome that a source records: the message was delivered. */
export interface Settlement {
  readonly kind: 'delivered'
  readonly message: Message
}

/** What the relay does next with a message, decided from its verdict. */
export type Decision =
  | Settlement
  /** Offer it again after `delayMs`, no attempt used: nothing was wrong with the message. */
  | { readonly kind: 'again'; readonly message: Message; readonly refusal: Refused; readonly delayMs: number }
  /** It was refused: offer it again after `delayMs` with one attempt more; later messages of its key wait behind it. */
  | { readonly kind: 'retry'; readonly message: Message; readonly refusal: Refused; readonly attempt: number; readonly delayMs: number }
  /** It can't be delivered as it is: its key is blocked until somebody mends it. */
  | { readonly kind: 'failed'; readonly message: Message; readonly refusal: Refused; readonly attempt: number }
