export { createMemoryOutbox } from './outbox.ts'
export type { MemoryEntry, MemoryOutbox, MemoryOutboxOptions, MemoryTransaction } from './outbox.ts'
export type { MemorySource } from './source.ts'
