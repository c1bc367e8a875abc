// An application's bundler sees the library whole, and the drivers that aren't installed don't stop it.
import { build } from 'esbuild'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { createApplication, type Application } from './application.ts'
import { listedNames } from './exported-names.ts'

const ENTRY = `
  import { createOutbox, defineEvents, event, isOutriderError } from 'outrider'
  import { postgres } from 'outrider/postgres'
  import { kafka, partitionFor } from 'outrider/kafka'
  ${Object.keys(listedNames())
    .map((path, index) => `import * as all${index} from '${path.replace('.', 'outrider')}'`)
    .join('\n')}
  const events = defineEvents({ OrderPlaced: event({ aggregate: 'order', key: (e) => e.orderId, topic: 'orders' }) })
  createOutbox({ events })
  const clock = { now: () => performance.now(), wait: () => new Promise(() => {}) }
  const codeOf = (act) => Promise.resolve().then(act).then(() => 'none', (error) => (isOutriderError(error) ? error.code + ': ' + error.message + ' ' + error.hint : String(error)))
  Promise.all([
    codeOf(() => postgres({ url: 'postgres://127.0.0.1:1/none' }).open({ relayId: crypto.randomUUID(), relayName: 'r', clock, report: () => {}, batchSize: 1, maxInFlight: 1 })),
    codeOf(() => kafka({ brokers: ['127.0.0.1:1'] }).check()),
  ]).then(([database, broker]) => {
    console.log(JSON.stringify({ partition: partitionFor('order-1', 12), database, broker, paths: [${Object.keys(listedNames())
      .map((_, index) => `Object.keys(all${index}).length`)
      .join(', ')}] }))
  })`

describe('an esbuild bundle of an application without drivers', () => {
  let application: Application
  beforeAll(async () => {
    application = await createApplication()
  })

  test.each(['esm', 'cjs'] as const)(
    'as %s is made without a warning, runs alone, and names the package that is missing',
    async (format) => {
      const entry = application.write('entry.js', ENTRY)
      const outfile = join(application.folder, format, `bundle.${format === 'esm' ? 'mjs' : 'cjs'}`)
      const { warnings, errors } = await build({
        entryPoints: [entry],
        bundle: true,
        platform: 'node',
        format,
        outfile,
        logLevel: 'silent',
        absWorkingDir: application.folder,
      })
      expect([...warnings, ...errors]).toEqual([])
      const { stdout } = await application.run(process.execPath, [outfile])
      const printed = JSON.parse(stdout) as { partition: number; database: string; broker: string; paths: number[] }
      expect(printed.partition).toBeTypeOf('number')
      expect(printed.paths.every((count) => count > 0)).toBe(true)
      expect(printed.database).toMatch(/^DRIVER_MISSING: .*pg.*npm install pg/s)
      expect(printed.broker).toMatch(/^DRIVER_MISSING: .*@platformatic\/kafka.*npm install @platformatic\/kafka/s)
    },
  )

  test('a package that is missing and imported at once stops the bundler, so the case above could fail', async () => {
    const entry = application.write('wrong.js', `import 'pg'`)
    await expect(build({ entryPoints: [entry], bundle: true, platform: 'node', write: false, logLevel: 'silent' })).rejects.toThrow(
      /Could not resolve "pg"/,
    )
  })
})
