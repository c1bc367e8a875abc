export { selectCases } from './case.ts'
export type { ConformanceCase, Harness, Selection } from './case.ts'
export { sourceCases } from './source-cases.ts'
export type { OutboxUnderTest, SourceCapability, SourceCase, SourceHarness, WritingTransaction } from './source-harness.ts'
