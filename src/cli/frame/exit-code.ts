import { isOutriderError } from '../../core/index.ts'
import type { ExitCode } from './command.ts'

const usage = new Set(['USAGE', 'CONFIG_INVALID', 'DRIVER_MISSING', 'SOURCE_FORBIDDEN', 'BROKER_FORBIDDEN'])
const unreachable = new Set(['SOURCE_UNREACHABLE', 'SOURCE_LOST', 'BROKER_UNREACHABLE'])

/** 1 a check failed (or Outrider itself); 2 usage or configuration; 3 a server can't be reached. */
export function exitCodeOf(error: unknown): ExitCode {
  if (!isOutriderError(error)) return 1
  if (usage.has(error.code)) return 2
  return unreachable.has(error.code) ? 3 : 1
}
