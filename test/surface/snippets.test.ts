// What README.md and the docs show compiles against the packed library, and what they mark \`run\` works.
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createTopicOn } from '../../servers/kafka-topics.ts'
import { createTestDatabase, describeLine, kafkaBrokers } from '../setup/index.ts'
import { createApplication, ownProgram, root, type Application } from './application.ts'
import { WORLD_RUNNER, WORLD_TYPES } from './snippet-world.ts'
import { pagesOf, snippetsIn, snippetsOf } from './snippets.ts'

const snippets = pagesOf(root).flatMap((page) => snippetsOf(root, page))

const CONFIG = {
  compilerOptions: {
    target: 'es2023',
    module: 'nodenext',
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
    types: ['node'],
  },
  include: ['**/*.ts'],
  exclude: ['node_modules'],
}

const PACKAGES = [
  'pg',
  '@types/pg',
  '@types/node',
  'undici-types',
  'pg-protocol',
  'pg-types',
  '@platformatic/kafka',
  'kafkajs',
  'zod',
  'valibot',
  'vitest',
]

async function createDocsApplication(): Promise<Application> {
  const application = await createApplication(PACKAGES)
  application.write('package.json', JSON.stringify({ name: 'application', private: true, type: 'module' }))
  application.write('tsconfig.json', JSON.stringify(CONFIG))
  application.write('world.d.ts', WORLD_TYPES)
  application.write('run.js', WORLD_RUNNER)
  return application
}

const compile = (application: Application): Promise<unknown> =>
  application.run(process.execPath, [ownProgram('typescript/bin/tsc'), '-p', '.'])

describe('snippets', () => {
  test('compile against the packed library', async () => {
    const application = await createDocsApplication()
    for (const { file, code } of snippets) application.write(file, code)
    await compile(application)
  }, 120_000)

  test('a mistake in one is found, at the line that it has on its page', async () => {
    const application = await createDocsApplication()
    const page = ['# Title', '', '```ts', `import { createOutbox } from 'outrider'`, 'createOutbox(1)', '```', ''].join('\n')
    for (const { file, code } of snippetsIn('docs/wrong.md', page)) application.write(file, code)
    await expect(compile(application)).rejects.toThrow(/docs\/wrong\/line-4\.ts\(5,14\): error TS/)
  }, 120_000)

  test('blocks are read with their words, groups and files', () => {
    const page = [
      '```ts run',
      'a',
      '```',
      '```sh',
      'b',
      '```',
      '```ts group=g',
      'c',
      '```',
      '- x',
      '  ```ts group=g run',
      '  d',
      '  ```',
      '```ts file=e.ts',
      'e',
      '```',
    ].join('\n')
    expect(snippetsIn('docs/x.md', page)).toEqual([
      { page: 'docs/x.md', line: 2, file: 'docs/x/line-2.ts', code: '\na\nexport {}\n', run: true },
      { page: 'docs/x.md', line: 8, file: 'docs/x/group-g.ts', code: `${'\n'.repeat(7)}c\n\n\n\nd\nexport {}\n`, run: true },
      { page: 'docs/x.md', line: 15, file: 'docs/x/e.ts', code: `${'\n'.repeat(14)}e\nexport {}\n`, run: false },
    ])
    expect(() => snippetsIn('docs/x.md', '```ts runn\n```')).toThrow('docs/x.md:1: "runn" after ts means nothing')
  })
})

let ready: Promise<Application> | undefined
async function prepare(): Promise<Application> {
  const application = await createDocsApplication()
  for (const { file, code } of snippets) application.write(file, code)
  await createTopicOn(await kafkaBrokers(), 'orders', { partitions: 4 }).catch((error: unknown) => {
    if (!/already exists/i.test(JSON.stringify(error, ['message', 'errors', 'cause', 'apiId']))) throw error
  })
  return application
}

async function run(file: string): Promise<unknown> {
  const application = await (ready ??= prepare())
  const { url } = await createTestDatabase()
  const env = { DATABASE_URL: url, KAFKA_BROKERS: (await kafkaBrokers()).join(',') }
  return application.run(process.execPath, ['run.js', join(application.folder, file)], env)
}

describeLine('snippets marked run', () => {
  test('there is at least one', () => {
    expect(snippets.filter((snippet) => snippet.run).length).toBeGreaterThan(0)
  })

  for (const { page, line, file, run: isRun } of snippets) {
    if (isRun) test(`${page}:${line} works`, () => run(file).then(() => {}))
  }

  test('one that throws is found', async () => {
    const application = await (ready ??= prepare())
    application.write('docs/throws.ts', `throw new Error('as it should')`)
    await expect(run('docs/throws.ts')).rejects.toThrow(/as it should/)
  })
})
