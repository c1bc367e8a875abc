// CommonJS applications get the library by `require()`, on the oldest and on the newest Node that is supported.
import { beforeAll, describe, expect, test } from 'vitest'
import { createTestDatabase, describePostgres } from '../setup/index.ts'
import { createApplication, type Application } from './application.ts'
import { listedNames } from './exported-names.ts'
import { oldestNode } from './nodes.ts'

const requireAll = (paths: readonly string[]): string => `
  const names = {}
  for (const path of ${JSON.stringify(paths)}) names[path] = Object.keys(require(path.replace('.', 'outrider')))
  console.log(JSON.stringify({ version: process.version, names }))`

/** Values that each import path must give, by the list of exports. */
const values = (): Record<string, string[]> =>
  Object.fromEntries(
    Object.entries(listedNames()).map(([path, names]) => [
      path,
      names
        .filter((name) => name.startsWith('value '))
        .map((name) => name.slice(6))
        .toSorted(),
    ]),
  )

async function requiredBy(
  node: string,
  application: Application,
): Promise<{ version: string; names: Record<string, string[]>; stderr: string }> {
  const script = application.write('require.cjs', requireAll(Object.keys(values())))
  const { stdout, stderr } = await application.run(node, [script])
  const { version, names } = JSON.parse(stdout) as { version: string; names: Record<string, string[]> }
  const sorted = Object.entries(names).map(([path, found]) => [
    path,
    found.filter((name) => name !== 'module.exports' && name !== '__esModule').toSorted(),
  ])
  return { version, names: Object.fromEntries(sorted) as Record<string, string[]>, stderr }
}

describe('require() without any driver installed', () => {
  let application: Application
  beforeAll(async () => {
    application = await createApplication()
  })

  test('gives every export on Node 24, without a warning', async () => {
    const { version, names, stderr } = await requiredBy(process.execPath, application)
    expect(version).toMatch(/^v24\./)
    expect(names).toEqual(values())
    expect(stderr).toBe('')
  })

  test('gives every export on Node 22, without a warning', async ({ skip }) => {
    const node = await oldestNode()
    if ('missing' in node) {
      if (process.env.CI !== undefined) throw new Error(node.missing)
      process.stderr.write(`\n!!! SKIPPED: require() on Node 22: ${node.missing}\n\n`)
      return skip(node.missing)
    }
    const { version, names, stderr } = await requiredBy(node.path, application)
    expect(version).toMatch(/^v22\./)
    expect(names).toEqual(values())
    expect(stderr).toBe('')
  })

  test('a script that requires a path that is not exported fails, so the cases above could', async () => {
    const script = application.write('wrong.cjs', `require('outrider/dist/write/index.js')`)
    await expect(application.run(process.execPath, [script])).rejects.toThrow(/ERR_PACKAGE_PATH_NOT_EXPORTED/)
  })
})

describePostgres('a CommonJS application', () => {
  test('writes an order and its event in one transaction, and a rollback takes both', async () => {
    const { url } = await createTestDatabase()
    const application = await createApplication(['pg'])
    const script = application.write(
      'application.cjs',
      `
      const { Client } = require('pg')
      const { createOutbox, defineEvents, event, OutriderError } = require('outrider')
      const { migrate } = require('outrider/postgres')
      const events = defineEvents({ OrderPlaced: event({ aggregate: 'order', key: (e) => e.orderId, topic: 'orders' }) })
      const outbox = createOutbox({ events })
      async function main() {
        const client = new Client({ connectionString: process.env.DATABASE_URL })
        await client.connect()
        await migrate(client)
        await client.query('create table orders (id text primary key)')
        for (const [id, end] of [['o-1', 'commit'], ['o-2', 'rollback']]) {
          await client.query('begin')
          await client.query('insert into orders values ($1)', [id])
          await outbox.write(client, 'OrderPlaced', { orderId: id })
          await client.query(end)
        }
        const refused = await outbox.write(client, 'OrderPlaced', { orderId: 'o-3' }).catch((error) => error)
        const { rows } = await client.query('select aggregate_id from outrider.outbox')
        await client.end()
        console.log(JSON.stringify({ keys: rows.map((row) => row.aggregate_id), refused: refused.code, same: refused instanceof OutriderError }))
      }
      void main()`,
    )
    const { stdout } = await application.run(process.execPath, [script], { DATABASE_URL: url })
    expect(JSON.parse(stdout)).toEqual({ keys: ['o-1'], refused: 'NOT_IN_TRANSACTION', same: true })
  })
})
