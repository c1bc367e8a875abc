import { OutriderError, pathText, textFault, textOf } from '../core/index.ts'

/** Deeper payloads end PostgreSQL's and most consumers' parsers. */
export const maxDepth = 1000

/**
 * The JSON text of a value, exactly as JSON.stringify writes it, but nothing is lost on the way: what JSON can't say is an error that names
 * its path. As in JSON.stringify, a property that is `undefined` is left out, `toJSON` is called, and -0 becomes 0.
 * Each value is looked at once, so what was checked is what is written.
 *
 * Throws PAYLOAD_NOT_STORABLE.
 */
export function toJson(value: unknown, type: string): string {
  const writer = new JsonWriter(type)
  try {
    return writer.write(value, '')
  } catch (cause) {
    if (cause instanceof OutriderError) throw cause
    // A getter or a toJSON of the caller's own threw.
    throw writer.fault(`could not be read: ${textOf(cause)}`, undefined, cause)
  }
}

/** Quotes, backslashes, control characters and surrogates, in pairs or not. */
const special = /["\\]|[^ -\ud7ff\ue000-\uffff]/

class JsonWriter {
  readonly #type: string
  readonly #path: PropertyKey[] = []
  readonly #ancestors: object[] = []

  constructor(type: string) {
    this.#type = type
  }

  fault(what: string, hint?: string, cause?: unknown): OutriderError {
    const at = pathText('payload', this.#path)
    return new OutriderError('PAYLOAD_NOT_STORABLE', `${this.#type}: ${at} ${what}. Nothing was written.`, {
      ...(hint === undefined ? {} : { hint }),
      ...(cause === undefined ? {} : { cause }),
    })
  }

  write(given: unknown, key: string): string {
    const value = hasToJson(given) ? given.toJSON(key) : given
    switch (typeof value) {
      case 'string':
        return this.#string(value, 'holds')
      case 'boolean':
        return String(value)
      case 'number':
        if (!Number.isFinite(value)) throw this.fault(`is ${value}: JSON has no such number`, 'Store null or a string.')
        return Object.is(value, -0) ? '0' : String(value)
      case 'bigint':
        throw this.fault(`is the BigInt ${value}n: JSON would round it`, 'Store String(value), or the exact text by rawJson.')
      case 'object':
        if (value === null) {
          if (given instanceof Date) throw this.fault('is an invalid Date')
          return 'null'
        }
        return this.#container(value)
      case 'undefined':
        throw this.fault('is undefined: JSON has no such value', 'Leave the property out, or store null.')
      case 'function':
      case 'symbol':
        throw this.fault(`is a ${typeof value}: JSON would drop it`)
    }
  }

  #string(text: string, verb: string): string {
    // Most texts need no escape at all, and then nothing in them needs a second look.
    if (!special.test(text)) return `"${text}"`
    const found = textFault(text)
    if (found !== null) throw this.fault(`${verb} ${found}, which PostgreSQL can't store`, 'Remove it, or encode the text (base64).')
    return JSON.stringify(text)
  }

  #container(value: object): string {
    if (this.#ancestors.includes(value)) throw this.fault('is a cycle: it contains itself')
    if (this.#ancestors.length >= maxDepth) throw this.fault(`is nested deeper than ${maxDepth} levels`)
    this.#ancestors.push(value)
    const text = Array.isArray(value) ? this.#array(value) : this.#object(value)
    this.#ancestors.pop()
    return text
  }

  #array(values: readonly unknown[]): string {
    let text = '['
    for (let i = 0; i < values.length; i++) {
      this.#path.push(i)
      text += (i === 0 ? '' : ',') + this.write(values[i], String(i))
      this.#path.pop()
    }
    return `${text}]`
  }

  #object(value: object): string {
    const tag = Object.prototype.toString.call(value)
    if (tag !== '[object Object]') {
      throw this.fault(`is ${tag.slice(8, -1)}: JSON would lose what is in it`, 'Turn it into plain objects, arrays and strings.')
    }
    let text = ''
    for (const key of Object.keys(value)) {
      this.#path.push(key)
      const member = (value as Record<string, unknown>)[key]
      if (member !== undefined) {
        text += `${text === '' ? '' : ','}${this.#string(key, 'has a name with')}:${this.write(member, key)}`
      }
      this.#path.pop()
    }
    return `{${text}}`
  }
}

function hasToJson(value: unknown): value is { toJSON(key: string): unknown } {
  return typeof value === 'object' && value !== null && 'toJSON' in value && typeof value.toJSON === 'function'
}
