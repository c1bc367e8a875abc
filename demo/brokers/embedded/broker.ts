import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createFolder, removeFolder } from '../../../servers/folder.ts'
import { freePort } from '../../../servers/port.ts'
import { launch, until, type ServerProcess } from '../../../servers/process.ts'
import type { DemoBroker } from '../broker.ts'
import { LogClient } from './client.ts'

const program = fileURLToPath(new URL('server.ts', import.meta.url))

/** Starts the embedded broker. An outage is a SIGKILL: what it has confirmed is in its file. */
export async function startEmbedded(): Promise<DemoBroker> {
  const folder = createFolder('broker')
  const port = await freePort()
  const log = join(folder, 'server.log')
  let server: ServerProcess | null = null
  const start = async (): Promise<void> => {
    const own = launch({ command: process.execPath, args: [program, String(port), join(folder, 'topics.jsonl')], log })
    server = own
    await until('The embedded broker', () => answers(port), { server: own, log })
  }
  const stop = async (): Promise<void> => server?.end('SIGKILL', 5_000)
  const close = async (): Promise<void> => {
    await stop()
    removeFolder(folder)
  }
  try {
    await start()
  } catch (error) {
    await close()
    throw error
  }
  return {
    title: 'an embedded broker (a process of its own, behind a socket)',
    address: { kind: 'embedded', port },
    outage: { stop, start, startMs: 200 },
    // A topic is there as soon as something is appended to it.
    createTopics: async () => undefined,
    close,
  }
}

async function answers(port: number): Promise<true> {
  const client = new LogClient(port)
  try {
    await client.ask({ op: 'check' }, 1_000)
    return true
  } finally {
    client.close()
  }
}
