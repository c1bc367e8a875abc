import { OutriderError, reservedHeaders, textFault } from '../core/index.ts'
import type { AnyEvent, EventDefinition, Events, InputOf, OutputOf, StandardSchema } from '../core/index.ts'

/** What an event is, beside its payload. */
export interface EventOptions<Output> {
  /** Type of the thing that changed: `order`. Also the topic, where no other is given. */
  readonly aggregate: string
  /** The ordering key, from the validated payload: events of one key stay in order. `null`: events of this kind have no order. */
  readonly key: ((payload: Output) => string | null) | null
  /** Where the broker should put it. @default the relay's own rule, else the aggregate's type */
  readonly topic?: string
  /** Version of the payload's shape, a whole number from 1; travels as the header `eventVersion`. @default none, which counts as 1 */
  readonly version?: number
  /** Turns the payload of an older version into the current one when it is read; the schema then checks the result. */
  readonly upcast?: (payload: unknown, version: number) => unknown
  /** Sent with each event of this kind. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Describes one kind of event whose payload any Standard Schema checks: zod, valibot, arktype and others. */
export function event<S extends StandardSchema>(
  options: EventOptions<OutputOf<S>> & { readonly schema: S },
): EventDefinition<InputOf<S>, OutputOf<S>>
/** Describes one kind of event by its type alone: nothing is checked at run time but that it can be stored as JSON. */
export function event<T extends object>(options: EventOptions<T> & { readonly schema?: undefined }): EventDefinition<T, T>
export function event(options: EventOptions<never> & { readonly schema?: StandardSchema | undefined }): AnyEvent {
  const { schema, aggregate, key, topic, version, upcast, headers } = options
  if (typeof aggregate !== 'string' || aggregate === '' || textFault(aggregate) !== null) {
    throw invalid(`an event's aggregate is ${JSON.stringify(aggregate)}`, 'Give the type of the thing that changed: aggregate: "order".')
  }
  if (key !== null && typeof key !== 'function') {
    throw invalid(
      `the key of an event of ${aggregate} is ${typeof key}`,
      'Give a function of the payload, or null for events without order.',
    )
  }
  if (topic !== undefined && (typeof topic !== 'string' || topic === '' || textFault(topic) !== null)) {
    throw invalid(`the topic of an event of ${aggregate} is ${JSON.stringify(topic)}`, 'Give a name, or leave it out.')
  }
  if (version !== undefined && !(Number.isSafeInteger(version) && version >= 1)) {
    throw invalid(`the version of an event of ${aggregate} is ${String(version)}`, 'Give a whole number from 1.')
  }
  if (schema !== undefined && typeof schema['~standard']?.validate !== 'function') {
    throw invalid(`the schema of an event of ${aggregate} has no "~standard"`, 'Give a Standard Schema: zod 3.24+, valibot 1+, arktype 2+.')
  }
  for (const [name, value] of Object.entries(headers ?? {})) {
    if (reservedHeaders.includes(name)) throw invalid(`an event of ${aggregate} sets the header ${name}`, 'Outrider sets that one itself.')
    if (typeof value !== 'string') throw invalid(`the header ${name} of an event of ${aggregate} is no string`, 'Headers are strings.')
  }
  return Object.freeze({
    schema: schema ?? null,
    aggregate,
    key,
    topic: topic ?? null,
    version: version ?? null,
    upcast: upcast ?? null,
    headers: headers ?? null,
  })
}

/**
 * The events of an application by their names, for its writers and its readers. Needs nothing of Node, so that every side can import it.
 * Throws CONFIG_INVALID for a name that can't be one.
 */
export function defineEvents<const E extends Events & { readonly unknown?: never; readonly tombstone?: never }>(events: E): Readonly<E> {
  for (const name of Object.keys(events)) {
    if (name === '' || textFault(name) !== null) throw invalid(`an event's name is ${JSON.stringify(name)}`, 'Give it a name.')
    if (name === 'unknown')
      throw invalid('an event is named "unknown"', 'That is what readers call events that they do not know. Rename it.')
  }
  return Object.freeze({ ...events })
}

function invalid(got: string, hint: string): OutriderError {
  return new OutriderError('CONFIG_INVALID', `The events can't be defined: ${got}.`, { hint })
}
