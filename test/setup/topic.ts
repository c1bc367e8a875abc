import { createTopicOn, deleteTopicsOn, type TopicOptions } from '../../servers/kafka-topics.ts'
import { addressesOf } from './servers.ts'

const made = new Set<string>()

/** `host:port` of the run's real Kafka. */
export const kafkaBrokers = (): Promise<string[]> => addressesOf('kafka')

/** A topic of one's own in the run's real Kafka, ready to take records. Deleted at the end of the test file. */
export async function createTestTopic(options: TopicOptions = {}): Promise<string> {
  const name = `test-${process.pid}-${Math.random().toString(36).slice(2, 10)}`
  await createTopicOn(await kafkaBrokers(), name, options)
  made.add(name)
  return name
}

export async function deleteTestTopics(): Promise<void> {
  if (made.size === 0) return
  await deleteTopicsOn(await kafkaBrokers(), [...made])
  made.clear()
}
