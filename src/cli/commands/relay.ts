import { hostname } from 'node:os'
import { loadConfig } from '../../config/load.ts'
import { processNumbers, relayNumbers, logFormats, logLevels, type NumberSetting } from '../../config/settings.ts'
import { runDaemon } from '../../daemon/daemon.ts'
import { createLogger } from '../../daemon/logger.ts'
import { processClock } from '../../relay/clock.ts'
import { defineCommand } from '../frame/command.ts'
import { exitCodeOf } from '../frame/exit-code.ts'
import { errorDocument } from '../frame/print-error.ts'

export const command = defineCommand({
  about: [
    'Runs until SIGTERM or SIGINT: then it takes nothing new, waits up to the grace time for what is in flight, gives its lanes',
    'back and ends with 0. A second signal ends it at once. A server that is down is tried again for ever; what only a person can',
    'mend ends it with 1 (2 for configuration).',
    'Reads outrider.config.ts, .mjs or .js here, if there is one; with DATABASE_URL and KAFKA_BROKERS set none is needed.',
    'A flag wins over a variable, a variable over the file.',
  ].join('\n'),
  flags: {
    name: { kind: 'text', value: 'NAME', summary: 'name of this process in logs and leases (default host:process)' },
    config: { kind: 'text', value: 'FILE', summary: 'configuration file (or OUTRIDER_CONFIG)' },
    'batch-size': number(relayNumbers.batchSize),
    'max-in-flight': number(relayNumbers.maxInFlight),
    'max-bytes': number(relayNumbers.maxBytes),
    'lease-ms': number(relayNumbers.leaseMs),
    'grace-ms': number(processNumbers.graceMs),
    'log-level': { kind: 'choice', choices: logLevels, summary: 'least level that is logged (or LOG_LEVEL; default info)' },
    'log-format': { kind: 'choice', choices: logFormats, summary: 'json: one JSON object a line (or LOG_FORMAT; with --json always)' },
  },
  async run({ flags, json, io }) {
    // A signal must not be lost while files are read: until then there is nothing to stop.
    let early: string | null = null
    const forget = io.onStopSignal((signal) => (early ??= signal))
    const config = await loadConfig({
      cwd: io.cwd,
      environment: io.env,
      file: flags.config,
      overrides: {
        batchSize: flags['batch-size'],
        maxInFlight: flags['max-in-flight'],
        maxBytes: flags['max-bytes'],
        leaseMs: flags['lease-ms'],
        graceMs: flags['grace-ms'],
        logLevel: flags['log-level'],
        logFormat: json ? 'json' : flags['log-format'],
      },
    })
    const { createRelay } = await import('../../relay/index.ts')
    forget()
    if (early !== null) return { kind: 'result', document: { signal: early, clean: true, relays: [] }, text: '' }
    const result = await runDaemon({
      config,
      name: flags.name ?? `${hostname()}:${process.pid}`,
      makeRelay: ({ options }, relayName) => createRelay({ ...options, relayName }),
      logger: createLogger({ ...config.log, clock: processClock, write: (line) => io.err(line) }),
      clock: processClock,
      onStopSignal: (listener) => io.onStopSignal(listener),
      exit: (code) => io.exit(code),
    })
    const { signal, error, clean, relays } = result
    const document = { signal, clean, relays, ...(error === null ? {} : errorDocument(error)) }
    return { kind: 'result', document, text: '', code: error === null ? 0 : exitCodeOf(error) === 2 ? 2 : 1 }
  },
})

function number(setting: NumberSetting) {
  const { min, max, summary, variable } = setting
  return { kind: 'number', value: 'N', min, max, summary: `${summary} (or ${variable})` } as const
}
