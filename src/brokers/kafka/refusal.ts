import type { Refused } from '../../core/index.ts'

export function refusal(kind: Refused['class'], code: string, detail: string, retryAfterMs?: number): Refused {
  return { kind: 'refused', class: kind, code, detail, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) }
}

/** Nothing is wrong with the message and nothing was sent: it comes again, in order, without an attempt being counted. */
export function behind(code: string, detail: string): Refused {
  return refusal('throttled', code, detail)
}
