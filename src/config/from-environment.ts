// Source and publisher of a process that has no file: everything comes from variables.
import type { Publisher, Source } from '../core/index.ts'
import { lookUp, parseList, type Environment } from './env.ts'
import { nearest } from '../core/nearest.ts'
import type { Problem } from './problems.ts'
import { textFrom } from './settings.ts'

/** PostgreSQL at DATABASE_URL, its outbox in OUTRIDER_SCHEMA and OUTRIDER_TABLE; null when that is a problem. */
export async function sourceFromEnvironment(environment: Environment, problems: Problem[]): Promise<Source | null> {
  const url = needed(environment, 'DATABASE_URL', 'source', 'postgres({ url })', problems)
  const schema = textFrom(environment, 'OUTRIDER_SCHEMA', problems)
  const table = textFrom(environment, 'OUTRIDER_TABLE', problems)
  if (url === undefined) return null
  const { postgres } = await import('../databases/postgres/index.ts')
  return postgres({ url, schema, table })
}

/** Kafka at KAFKA_BROKERS; null when that is a problem. */
export async function publisherFromEnvironment(environment: Environment, problems: Problem[]): Promise<Publisher | null> {
  const text = needed(environment, 'KAFKA_BROKERS', 'publisher', 'kafka({ brokers })', problems)
  if (text === undefined) return null
  const brokers = parseList(text)
  if (!Array.isArray(brokers)) {
    problems.push({ where: 'KAFKA_BROKERS', ...brokers })
    return null
  }
  const { kafka } = await import('../brokers/kafka/index.ts')
  return kafka({ brokers })
}

function needed(environment: Environment, name: string, setting: string, example: string, problems: Problem[]): string | undefined {
  const { value, problem } = lookUp(name, environment)
  if (problem !== undefined) problems.push(problem)
  else if (value === undefined) {
    const meant = nearest(name, Object.keys(environment))
    problems.push({ where: setting, got: 'nothing', expected: `${example} in outrider.config.ts, or the variable ${name}`, meant })
  }
  return value
}
