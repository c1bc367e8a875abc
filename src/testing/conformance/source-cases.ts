import { deliveryCases } from './source-delivery.ts'
import type { SourceCase } from './source-harness.ts'
import { ownershipCases } from './source-ownership.ts'

/** Every law of the contract of a source. */
export const sourceCases: readonly SourceCase[] = [...deliveryCases, ...ownershipCases]
