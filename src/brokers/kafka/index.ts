export { kafka } from './kafka.ts'
export type { Compression, KafkaOptions, SaslOptions, TlsOptions } from './options.ts'
export { partitionFor } from './partition.ts'
