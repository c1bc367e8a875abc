// The command as users get it: from the packed tarball, through the link in node_modules/.bin, on the oldest and the newest Node.
import { join } from 'node:path'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { createTestDatabase, describePostgres } from '../setup/index.ts'
import { createApplication, type Application } from '../surface/application.ts'
import { oldestNode } from '../surface/nodes.ts'

vi.setConfig({ testTimeout: 90_000 })

let application: Application
let command: string
const nodes = new Map([['this Node', process.execPath]])
beforeAll(async () => {
  application = await createApplication(['pg', 'zod'])
  command = join(application.folder, 'node_modules/.bin/outrider')
  const oldest = await oldestNode()
  if ('path' in oldest) nodes.set('the oldest Node', oldest.path)
  else if (process.env['CI'] !== undefined) throw new Error(oldest.missing)
  application.write('package.json', '{"private":true,"type":"module"}')
  application.write('orders.csv', 'orderId,total\n007,1.50\n')
  application.write(
    'events.ts',
    `import { defineEvents, event } from 'outrider'
    import { z } from 'zod'
    export const events = defineEvents({
      OrderPlaced: event({ schema: z.object({ orderId: z.string(), total: z.number() }), aggregate: 'order', key: (e: { orderId: string }) => e.orderId }),
    })`,
  )
  application.write(
    'outrider.config.ts',
    `import { defineConfig, env, postgres } from 'outrider/config'\nexport default defineConfig({ source: postgres({ url: env('SHOP_DB') }) })`,
  )
})

describe('the packed command', () => {
  it.each(['this Node', 'the oldest Node'])(
    'on %s prints its version, converts a file by its schema, and reads a TypeScript configuration',
    async (name) => {
      const node = nodes.get(name)
      if (node === undefined) return expect(process.env['CI']).toBeUndefined()
      expect((await application.run(node, [command, '--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
      const { stdout } = await application.run(node, [
        command,
        'fixtures',
        'convert',
        'orders.csv',
        '--events',
        'events.ts',
        '--event',
        'OrderPlaced',
      ])
      expect(JSON.parse(stdout)).toEqual([{ orderId: '007', total: 1.5 }])
      const failed: unknown = await application.run(node, [command, 'relay'], { SHOP_DB: '' }).catch((error: unknown) => error)
      expect(String(failed)).toMatch(
        /CONFIG_INVALID {2}outrider.config.ts has 2 problems[^]*SHOP_DB: got nothing[^]*publisher: got nothing/,
      )
    },
  )

  it('can be started by itself', async () => {
    expect((await application.run(command, ['help'])).stdout).toContain('Usage: outrider COMMAND')
  })
})

describePostgres('the packed command with a database', () => {
  it('creates the outbox', async () => {
    const { url } = await createTestDatabase()
    const { stdout } = await application.run(process.execPath, [command, 'migrate', '--json'], { DATABASE_URL: url })
    expect(JSON.parse(stdout)).toMatchObject({ schema: 'outrider', from: 0 })
  })
})

describe('the packed command without drivers', () => {
  it('ends with 2 and names the package to install', async () => {
    const bare = await createApplication()
    const main = join(bare.folder, 'node_modules/.bin/outrider')
    const failed: unknown = await bare
      .run(process.execPath, [main, 'migrate'], { DATABASE_URL: 'postgres://127.0.0.1:1/x' })
      .catch((error: unknown) => error)
    expect(String(failed)).toMatch(/DRIVER_MISSING .*\n {2}npm install pg/)
    expect(failed).toHaveProperty('cause.code', 2)
    // A broker without its driver is no broker that is down: nothing is tried again.
    bare.write(
      'outrider.config.mjs',
      `export default { source: { name: 'never', open: () => new Promise(() => {}), read() {}, settle() {}, async close() {} } }`,
    )
    const relay: unknown = await bare
      .run(process.execPath, [main, 'relay'], { KAFKA_BROKERS: '127.0.0.1:1' })
      .catch((error: unknown) => error)
    expect(String(relay)).toMatch(/error .*DRIVER_MISSING .*npm install @platformatic\/kafka/)
    expect(relay).toHaveProperty('cause.code', 2)
  })
})
