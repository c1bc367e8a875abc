export { createMemoryBroker } from '../brokers/memory/index.ts'
export type { HeldPublish, MemoryBroker, MemoryBrokerOptions, MemoryRecord, Outcome, Script } from '../brokers/memory/index.ts'
export { createMemoryOutbox } from '../databases/memory/index.ts'
export type { MemoryEntry, MemoryOutbox, MemoryOutboxOptions, MemorySource, MemoryTransaction } from '../databases/memory/index.ts'
export { checkDelivery } from './checker.ts'
export type { CommittedMessage, DeliveredRecord, DeliveryFigures, ParkedMessage } from './checker.ts'
export { inboxCases, publisherCases, selectCases, sourceCases } from './conformance/index.ts'
export type {
  BrokerRecord,
  BrokerUnderTest,
  ConformanceCase,
  HandlingTransaction,
  Harness,
  InboxCapability,
  InboxCase,
  InboxHarness,
  InboxUnderTest,
  OutboxUnderTest,
  PublisherCapability,
  PublisherCase,
  PublisherHarness,
  Selection,
  SourceCapability,
  SourceCase,
  SourceHarness,
  WritingTransaction,
} from './conformance/index.ts'
export { createTestClock } from './clock.ts'
export type { TestClock } from './clock.ts'
export { startProxy } from './proxy.ts'
export type { ProxyMode, TcpProxy } from './proxy.ts'
export { readOutbox } from './read-outbox.ts'
export type { EntryOf, OutboxEntry, Queryable } from './read-outbox.ts'
