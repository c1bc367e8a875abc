// How a test file gets at the run's real servers. A server that can't be had is a failure in CI, a loud skip elsewhere.
import { describe, inject, test } from 'vitest'
import type { ResourceKind, ServerAnswer, ServerKind } from './run-servers.ts'

const asked = new Map<ResourceKind, Promise<ServerAnswer>>()
const used = new Set<ServerKind>()

/** The kinds of real server that this test file has used so far. */
export const usedServers = (): ServerKind[] => [...used]

const ask = (kind: ResourceKind): Promise<ServerAnswer> => {
  const answer =
    asked.get(kind) ??
    fetch(`${inject('serversUrl')}/${kind}`, { signal: AbortSignal.timeout(600_000) }).then(
      async (response) => (await response.json()) as ServerAnswer,
    )
  asked.set(kind, answer)
  return answer
}

/** The addresses of a real server, which starts at the first call of the run. Throws when it can't be had. */
export async function addressesOf(kind: ServerKind): Promise<string[]> {
  const answer = await ask(kind)
  if ('missing' in answer) throw new Error(`No real ${NAMES[kind]} for this test: ${answer.missing}.`)
  used.add(kind)
  return answer.addresses
}

/** The path of the packed tarball, built once a run. */
export async function packedTarball(): Promise<string> {
  const answer = await ask('package')
  if ('missing' in answer) throw new Error(answer.missing)
  return answer.addresses[0] ?? ''
}

const NAMES = { postgres: 'PostgreSQL', kafka: 'Kafka' } as const

/** A `describe` whose cases need real servers: without them it fails in CI, and is skipped with the reason elsewhere. */
export function describeWith(kinds: readonly ServerKind[], title: string, body: () => void): void {
  describe(title, async () => {
    const answers = await Promise.all(kinds.map(async (kind) => ({ kind, answer: await ask(kind) })))
    const missing = answers.flatMap(({ kind, answer }) => ('missing' in answer ? [`${NAMES[kind]}: ${answer.missing}`] : []))
    if (missing.length === 0) return body()
    const reason = `needs ${missing.join('; ')}`
    if (process.env.CI !== undefined) {
      test(reason, () => {
        throw new Error(`In CI every server must be there. This suite ${reason}.`)
      })
      return
    }
    process.stderr.write(`\n!!! SKIPPED: ${title} ${reason}\n\n`)
    test.skip(reason, () => {})
  })
}

export const describePostgres = (title: string, body: () => void): void => describeWith(['postgres'], title, body)
export const describeKafka = (title: string, body: () => void): void => describeWith(['kafka'], title, body)
/** Needs both servers. */
export const describeLine = (title: string, body: () => void): void => describeWith(['postgres', 'kafka'], title, body)
