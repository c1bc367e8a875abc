export { kafka } from './kafka.ts'
export type { KafkaJsMessage, KafkaJsProducer, OwnProducer, PlatformaticMessage, PlatformaticProducer } from './client.ts'
export type { Compression, KafkaOptions, OwnProducerOptions, SaslOptions, TlsOptions } from './option-types.ts'
export { partitionFor } from './partition.ts'
