import type { StandardSchema } from './standard-schema.ts'

/** The facts of one kind of domain event, shared by those who write it and those who read it. Made by `event`. */
export interface EventDefinition<Input, Output> extends AnyEvent {
  /** Computes the ordering key from the validated payload; null: events of this kind have no order. */
  readonly key: ((payload: Output) => string | null) | null
  /** Never there at run time: carries the types. */
  readonly types?: { readonly input: Input; readonly output: Output }
}

/** Any event definition, whatever its payload. */
export interface AnyEvent {
  readonly schema: StandardSchema | null
  readonly aggregate: string
  readonly key: ((payload: never) => string | null) | null
  readonly topic: string | null
  readonly version: number | null
  readonly upcast: ((payload: unknown, version: number) => unknown) | null
  readonly headers: Readonly<Record<string, string>> | null
  readonly types?: { readonly input: unknown; readonly output: unknown }
}

/** Event definitions by the events' names. Made by `defineEvents`. */
export type Events = Readonly<Record<string, AnyEvent>>
export type EventType<E extends Events> = keyof E & string
/** What a writer passes. */
export type WrittenPayload<D extends AnyEvent> = NonNullable<D['types']>['input']
/** What a reader gets. */
export type ReadPayload<D extends AnyEvent> = NonNullable<D['types']>['output']

/** Header names that Outrider sets itself. */
export const reservedHeaders: readonly string[] = ['eventId', 'eventType', 'eventTime', 'eventVersion', 'aggregateType', 'content-type']
