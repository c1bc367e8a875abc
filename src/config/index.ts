/** `outrider/config`: all that a configuration file needs. Importing it loads no driver. */
export { defineConfig } from './define.ts'
export type { Config, RelayConfig } from './define.ts'
export { env } from './env.ts'
export type { LogFormat, LogLevel } from './settings.ts'
export { kafka } from '../brokers/kafka/index.ts'
export { postgres } from '../databases/postgres/index.ts'
