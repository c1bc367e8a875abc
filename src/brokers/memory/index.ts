export { createMemoryBroker } from './broker.ts'
export type { HeldPublish, MemoryBroker, MemoryBrokerOptions, Script } from './broker.ts'
export type { MemoryRecord, Outcome } from './outcome.ts'
