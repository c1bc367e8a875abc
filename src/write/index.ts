export { isOutriderError, OutriderError } from '../core/index.ts'
export type {
  AnyEvent,
  EventDefinition,
  Events,
  EventType,
  Executor,
  OutriderErrorCode,
  OutriderErrorOptions,
  ReadPayload,
  StandardSchema,
  WrittenPayload,
} from '../core/index.ts'
export { defineEvents, event } from './events.ts'
export type { EventOptions } from './events.ts'
export type { Kickable } from './kick.ts'
export { createOutbox } from './outbox.ts'
export type {
  AmbientOutbox,
  AmbientOutboxOptions,
  Enlistable,
  EventToWrite,
  Outbox,
  OutboxOptions,
  PayloadOf,
  WriteOptions,
} from './outbox.ts'
export type { PayloadType } from './queries.ts'
export { rawJson } from './raw-json.ts'
export type { RawJson } from './raw-json.ts'
