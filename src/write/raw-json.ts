import { OutriderError, textFault, textOf } from '../core/index.ts'
import { maxDepth } from './json.ts'
import type { PayloadType } from './queries.ts'

/** JSON text that is stored as it is. Made by `rawJson`. */
export class RawJson {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  get text(): string {
    return this.#text
  }

  toJSON(): never {
    throw new OutriderError('PAYLOAD_NOT_STORABLE', 'rawJson stands for a whole payload and was found inside one. Nothing was written.')
  }
}

/**
 * A payload whose text the caller has already: stored as it is, with every digit, and not checked by the event's schema.
 * A `jsonb` column still rewrites spaces, the order of keys and the form of numbers; `json`, `text` and `bytea` keep each byte.
 *
 * @example outbox.write(tx, 'Paid', rawJson('{"id":7088992364139642881,"amount":12.30}'))
 */
export function rawJson(text: string): RawJson {
  return new RawJson(text)
}

/** PostgreSQL's `numeric`, and so `jsonb`, ends near 131,072 digits before the point and 16,383 behind it. */
const longestNumber = 16_000

/**
 * Parses raw JSON to learn whether PostgreSQL will take it; an error there would abort the caller's transaction.
 * Throws PAYLOAD_INVALID for what isn't JSON, PAYLOAD_NOT_STORABLE for what the column can't hold.
 */
export function checkRawJson(text: string, type: string, column: PayloadType): unknown {
  const fault = typeof text === 'string' ? textFault(text) : `a ${typeof text} instead of text`
  if (fault !== null) throw notStorable(type, `holds ${fault}`)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new OutriderError('PAYLOAD_INVALID', `${type}: the raw payload is not JSON: ${textOf(cause)}. Nothing was written.`, { cause })
  }
  if (column === 'text' || column === 'bytea') return value
  if (depthOf(text) > maxDepth) throw notStorable(type, `is nested deeper than ${maxDepth} levels`)
  if (column === 'json') return value
  if (hasBadEscape(text)) throw notStorable(type, 'holds an escape for U+0000 or for half a surrogate pair, which jsonb refuses')
  if (hasHugeNumber(text)) throw notStorable(type, `holds a number of more than ${longestNumber} digits, which jsonb refuses`)
  return value
}

/** Every escape of the text in turn, so that an escaped backslash before a `u` is not taken for one. */
const escapes = /\\(?:u([0-9a-fA-F]{4})|.)/g

function hasBadEscape(text: string): boolean {
  let high = -1
  for (const match of text.matchAll(escapes)) {
    const unit = match[1] === undefined ? -1 : Number.parseInt(match[1], 16)
    const isLow = unit >= 0xdc00 && unit <= 0xdfff
    const follows = high !== -1 && match.index === high + 6
    if (unit === 0 || (isLow && !follows) || (high !== -1 && !(isLow && follows))) return true
    high = unit >= 0xd800 && unit <= 0xdbff ? match.index : -1
  }
  return high !== -1
}

const strings = /"[^"\\]*(?:\\.[^"\\]*)*"/g

function depthOf(text: string): number {
  if (text.length < 2 * maxDepth) return 0
  let depth = 0
  let deepest = 0
  for (const [bracket] of text.replace(strings, '').matchAll(/[[\]{}]/g)) {
    depth += bracket === '[' || bracket === '{' ? 1 : -1
    deepest = Math.max(deepest, depth)
  }
  return deepest
}

function hasHugeNumber(text: string): boolean {
  // Cheap, and also true for digits inside of strings: then a closer look decides.
  if (!/\d{1000}|[eE][+-]?0*[1-9]\d{3}/.test(text)) return false
  const withoutStrings = text.replace(strings, '""')
  for (const [number, mantissa = '', exponent = '0'] of withoutStrings.matchAll(/-?([\d.]+)(?:[eE]([+-]?\d+))?/g)) {
    if (number.length > longestNumber || mantissa.length + Math.abs(Number(exponent)) > longestNumber) return true
  }
  return false
}

function notStorable(type: string, what: string): OutriderError {
  return new OutriderError('PAYLOAD_NOT_STORABLE', `${type}: the raw payload ${what}. Nothing was written.`, {
    hint: 'Take it out, or use a payload column of type json, text or bytea.',
  })
}
