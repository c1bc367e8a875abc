// The library's types hold for users of TypeScript 5.9 and 7, from ES modules and from CommonJS, with their libraries checked.
import { beforeAll, describe, expect, test } from 'vitest'
import { createApplication, ownProgram, type Application } from './application.ts'
import { listedNames } from './exported-names.ts'

const paths = Object.keys(listedNames()).map((path) => path.replace('.', 'outrider'))

const USER = `
${paths.map((path, index) => `import * as all${index} from '${path}'`).join('\n')}
import { createOutbox, defineEvents, event } from 'outrider'
export const everything = [${paths.map((_, index) => `all${index}`).join(', ')}]
export const events = defineEvents({
  OrderPlaced: event<{ orderId: string; total: string }>({ aggregate: 'order', key: (e) => e.orderId, topic: 'orders' }),
  OrderCancelled: event<{ orderId: string }>({ aggregate: 'order', key: (e) => e.orderId, topic: 'orders' }),
})
export const outbox = createOutbox({ events })
`
const WRONG = `
import type { Client } from 'pg'
import { outbox } from './user.USEREXT'
declare const client: Client
export const right = outbox.write(client, 'OrderPlaced', { orderId: 'o-1', total: '9.90' })
// @ts-expect-error an event that is not defined
export const unknown = outbox.write(client, 'OrderLost', { orderId: 'o-1' })
// @ts-expect-error a payload that lacks a field
export const incomplete = outbox.write(client, 'OrderPlaced', { orderId: 'o-1' })
// @ts-expect-error a payload of the wrong type
export const mistyped = outbox.write(client, 'OrderCancelled', { orderId: 1 })
`

const CONFIG = {
  compilerOptions: {
    target: 'es2023',
    module: 'nodenext',
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
    noEmit: true,
    types: ['node'],
  },
}

describe('a strict application that checks its libraries', () => {
  let application: Application
  beforeAll(async () => {
    application = await createApplication([
      'pg',
      '@types/pg',
      '@types/node',
      'undici-types',
      'pg-protocol',
      'pg-types',
      '@platformatic/kafka',
    ])
    for (const [extension, imported] of [
      ['mts', 'mjs'],
      ['cts', 'cjs'],
    ] as const) {
      application.write(`user.${extension}`, USER)
      application.write(`wrong.${extension}`, WRONG.replace('USEREXT', imported))
    }
    application.write('tsconfig.json', JSON.stringify({ ...CONFIG, include: ['*.mts', '*.cts'] }))
  })

  test.each([
    ['5.9', 'typescript-5.9/bin/tsc'],
    ['7', 'typescript/bin/tsc'],
  ])(
    'compiles under TypeScript %s, nodenext, as an ES module and as CommonJS',
    async (version, program) => {
      const { stdout } = await application.run(process.execPath, [ownProgram(program), '--version'])
      expect(stdout).toContain(`Version ${version}.`)
      await application.run(process.execPath, [ownProgram(program), '-p', '.'])
    },
    120_000,
  )

  test('a mistake is found, so the cases above could fail', async () => {
    application.write('mistake.mts', `import { createOutbox } from 'outrider'\ncreateOutbox(1)`)
    application.write('mistake.json', JSON.stringify({ ...CONFIG, include: ['mistake.mts'] }))
    await expect(application.run(process.execPath, [ownProgram('typescript/bin/tsc'), '-p', 'mistake.json'])).rejects.toThrow(/TS2\d+/)
  })
})
