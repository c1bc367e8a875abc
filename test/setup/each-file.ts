// Runs in every test file before its own code: gives back what the file took, and notes which cases ran on real servers.
import { afterAll, afterEach } from 'vitest'
import { dropTestDatabases } from './database.ts'
import { usedServers } from './servers.ts'

declare module 'vitest' {
  interface TaskMeta {
    servers?: string[]
  }
}

afterEach(({ task }) => {
  task.meta.servers = usedServers()
})

afterAll(async () => {
  await dropTestDatabases()
  // The Kafka client costs most of a second to load: only files that asked for Kafka pay it.
  if (usedServers().includes('kafka')) await (await import('./topic.ts')).deleteTestTopics()
})
