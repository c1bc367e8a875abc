// The rules of ARCHITECTURE.md hold for every file; and each check finds a sample that breaks its rule.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  cycleComplaints,
  dependencyComplaints,
  driverComplaints,
  folderComplaints,
  reachComplaints,
  type Manifest,
} from './import-rules.ts'
import { importsOf, isTypeScript, repositoryFiles, root, type SourceFile } from './sources.ts'
import { awaitComplaints, lengthComplaints, nameComplaints, sqlComplaints, wordComplaints } from './text-rules.ts'

const files = repositoryFiles()
const code = files.filter(isTypeScript)
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest
/** The configuration and the events files are the user's own, so their paths are computed. */
const MAY_COMPUTE = ['src/config/load.ts', 'src/cli/fixtures/event-schema.ts']

const at = (path: string, text: string): SourceFile[] => [{ path, text }]

test('the files are found, and their imports are read', () => {
  expect(code.length).toBeGreaterThan(50)
  const [file] = at(
    'src/write/a.ts',
    `import type { A } from '../core/a.ts'\nimport { b } from 'node:fs'\nexport * from './c.ts'\nvoid import('pg')\nvoid import(name)`,
  )
  expect(importsOf(file as SourceFile).map(({ to, kind }) => `${kind} ${to}`)).toEqual([
    'type src/core/a.ts',
    'static node:fs',
    'static src/write/c.ts',
    'dynamic pg',
    'computed name',
  ])
})

describe('imports', () => {
  test('a folder of src imports only what its place on the line allows', () => {
    expect(folderComplaints(code)).toEqual([])
    expect(folderComplaints(at('src/core/a.ts', `import type { Client } from 'pg'`))).toHaveLength(1)
    expect(folderComplaints(at('src/core/a.ts', `import fs from 'node:fs'`))).toHaveLength(1)
    expect(folderComplaints(at('src/relay/a.ts', `import type { B } from '../brokers/kafka/b.ts'`))).toHaveLength(1)
    expect(folderComplaints(at('src/inbox/a.ts', `export { b } from '../write/b.ts'`))).toHaveLength(1)
    expect(folderComplaints(at('src/cli/a.ts', `import { b } from '../relay/b.ts'`))).toEqual([])
  })

  test('what is shipped reaches nothing that is not, and paths name the file', () => {
    expect(reachComplaints(code)).toEqual([])
    expect(reachComplaints(at('src/cli/a.ts', `import { startKafka } from '../../servers/kafka.ts'`))).toHaveLength(1)
    expect(reachComplaints(at('src/cli/a.ts', `import { b } from './b'`))).toHaveLength(1)
  })

  test('there are no cycles', () => {
    expect(cycleComplaints(code)).toEqual([])
    const loop = [
      ...at('src/a.ts', `import './b.ts'`),
      ...at('src/b.ts', `import type { C } from './c.ts'`),
      ...at('src/c.ts', `export * from './a.ts'`),
    ]
    expect(cycleComplaints(loop)).toEqual(['src/a.ts -> src/b.ts -> src/c.ts -> src/a.ts'])
  })

  test('nothing is installed with the library, and every peer is optional', () => {
    expect(dependencyComplaints(manifest)).toEqual([])
    expect(dependencyComplaints({ dependencies: { pg: '1' }, peerDependencies: { kafkajs: '2' } })).toHaveLength(2)
  })

  test('drivers are peers, loaded only when they are needed, by a literal import()', () => {
    expect(driverComplaints(code, manifest, MAY_COMPUTE)).toEqual([])
    const peers = { peerDependencies: { pg: '8' } }
    expect(driverComplaints(at('src/a.ts', `import { Client } from 'pg'\nvoid import('pg')`), peers)).toHaveLength(1)
    expect(driverComplaints(at('src/a.ts', `void import(name)\nvoid import('pg')`), peers)).toHaveLength(1)
    expect(driverComplaints(at('src/a.ts', `import type { K } from 'kafkajs'\nvoid import('pg')`), peers)).toHaveLength(1)
    expect(driverComplaints(at('src/a.ts', ''), peers)).toEqual(['no file of src loads the peer pg'])
    expect(driverComplaints(at('src/a.ts', `import type { Client } from 'pg'\nvoid import('pg')`), peers)).toEqual([])
  })
})

describe('files', () => {
  test('none has more than 400 lines', () => {
    expect(lengthComplaints(files)).toEqual([])
    expect(lengthComplaints(at('test/a.test.ts', 'x\n'.repeat(401)))).toHaveLength(1)
    expect(lengthComplaints(at('test/a.test.ts', 'x\n'.repeat(400)))).toEqual([])
  })

  test('none has a name that says nothing', () => {
    expect(nameComplaints(files)).toEqual([])
    expect(nameComplaints([...at('src/core/utils.ts', ''), ...at('src/base/a.ts', ''), ...at('src/lane-manager.ts', '')])).toHaveLength(3)
    expect(nameComplaints(at('src/databases/a.ts', ''))).toEqual([])
  })

  test('none speaks of how the work was planned, or silences the compiler', () => {
    expect(wordComplaints(files)).toEqual([])
    // Put together here, so that this file passes its own check.
    const bad = [
      ['// see C', '04'],
      ['../', 'shared/x'],
      ['/', 'work/main'],
      ['as in issue', ' 12'],
      ['// @ts-', 'ignore'],
    ].map((parts) => parts.join(''))
    for (const line of bad) expect(wordComplaints(at('src/a.ts', line)), line).toHaveLength(1)
    expect(wordComplaints(at('src/a.ts', 'const { issues } = validate("AC04 12")'))).toEqual([])
  })

  test('SQL stands only in queries.ts and in migrations', () => {
    expect(sqlComplaints(files)).toEqual([])
    const statements = [
      'select a from b',
      'insert into t values (1)',
      '  update t set a = 1',
      'delete from t',
      'create table t (a int)',
      'with a as (select 1) select',
      'select pg_backend_pid()',
      'listen x',
    ]
    for (const sql of statements) expect(sqlComplaints(at('src/relay/a.ts', `const sql = '${sql}'`)), sql).toHaveLength(1)
    expect(sqlComplaints(at('src/relay/a.ts', 'const sql = `select a from ${table}`'))).toHaveLength(1)
    expect(sqlComplaints(at('src/databases/x/queries.ts', `export const q = 'select a from b'`))).toEqual([])
    expect(sqlComplaints(at('src/a.ts', `fail({ hint: 'alter sequence s cache 1' })`))).toEqual([])
    expect(sqlComplaints(at('src/a.ts', `fail('Select one of these, from the list')`))).toEqual([])
  })

  test('what is shipped has no top-level await', () => {
    expect(awaitComplaints(code)).toEqual([])
    expect(awaitComplaints(at('src/a.ts', `const x = await load()`))).toHaveLength(1)
    expect(awaitComplaints(at('src/a.ts', `for await (const x of y) use(x)`))).toHaveLength(1)
    expect(awaitComplaints(at('src/a.ts', `const f = async () => await load()`))).toEqual([])
  })

  test('the module of migrations is what the .sql files say', () => {
    execFileSync(process.execPath, ['scripts/migrations.ts', '--check'], { cwd: root, stdio: 'pipe' })
  })
})
