// What test files import: databases and topics of their own on the run's real servers.
export { createTestDatabase, type TestDatabase, type TestDatabaseOptions } from './database.ts'
export { describeKafka, describeLine, describePostgres } from './servers.ts'
export { createTestTopic, kafkaBrokers } from './topic.ts'
