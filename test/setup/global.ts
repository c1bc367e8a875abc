// Runs once a run, in vitest's own process: it owns the servers, which start when the first test file asks for one.
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestProject } from 'vitest/node'
import { processesLeft } from './processes-left.ts'
import { createServers, type ResourceKind, type ServersOfRun } from './run-servers.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Where a test file asks for the run's servers. */
    serversUrl: string
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  process.env.OUTRIDER_TEST_RUN ??= `${process.pid}-${Date.now().toString(36)}`
  const servers = createServers()
  // A whole run needs both: they start side by side while the first files are read.
  if (process.env.OUTRIDER_TEST_WHOLE !== undefined) void Promise.all([servers.get('postgres'), servers.get('kafka')])
  const desk = await openDesk(servers)
  project.provide('serversUrl', `http://127.0.0.1:${(desk.address() as AddressInfo).port}`)
  return async () => {
    desk.closeAllConnections()
    desk.close()
    await servers.close()
    const left = await processesLeft(process.env.OUTRIDER_TEST_RUN ?? '')
    if (left.length > 0) throw new Error(`The tests left processes behind:\n${left.join('\n')}`)
  }
}

/** Answers `GET /postgres` and `GET /kafka` when that server is ready. */
function openDesk(servers: ServersOfRun): Promise<Server> {
  const desk = createServer((request, response) => {
    void servers.get((request.url ?? '').slice(1) as ResourceKind).then((answer) => response.end(JSON.stringify(answer)))
  })
  return new Promise((resolve) => desk.listen(0, '127.0.0.1', () => resolve(desk)))
}
