// The step before every command: it installs when, and only when, what is there isn't what the lockfile asks for.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createFolder, removeFolder } from '../../../servers/folder.ts'

const script = fileURLToPath(new URL('../../../scripts/setup.mjs', import.meta.url))
const lock = {
  packages: {
    '': { devDependencies: { pg: '8.0.0' } },
    'node_modules/pg': { version: '8.0.0', integrity: 'sha512-a' },
    'node_modules/only-windows': { version: '1.0.0', integrity: 'sha512-b', optional: true },
  },
}

let folder: string
const write = (path: string, value: unknown): void =>
  writeFileSync(join(folder, path), typeof value === 'string' ? value : JSON.stringify(value))

beforeEach(() => {
  folder = createFolder('setup')
  mkdirSync(join(folder, 'scripts'))
  cpSync(script, join(folder, 'scripts/setup.mjs'))
  write('package.json', { devDependencies: { pg: '8.0.0' } })
  write('package-lock.json', lock)
  mkdirSync(join(folder, 'node_modules/.bin'), { recursive: true })
  write('node_modules/.bin/node', '')
  write('node_modules/.package-lock.json', { packages: { 'node_modules/pg': lock.packages['node_modules/pg'] } })
  // In place of npm: notes what it was asked for, on standard output as npm would.
  write(
    'npm.cjs',
    `console.log('npm talks'); require('fs').writeFileSync('asked', process.argv.slice(2).join(' ')); process.exit(Number(process.env.NPM_ENDS ?? 0))`,
  )
})
afterEach(() => removeFolder(folder))

function setUp(npmEnds = 0): { status: number | null; stdout: string; stderr: string; installed: boolean } {
  const env = { ...process.env, npm_execpath: join(folder, 'npm.cjs'), NPM_ENDS: String(npmEnds) }
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/setup.mjs'], { cwd: folder, env, encoding: 'utf8' })
  return { status, stdout, stderr, installed: existsSync(join(folder, 'asked')) }
}

test('installs nothing when all is there, and says nothing', () => {
  expect(setUp()).toEqual({ status: 0, stdout: '', stderr: '', installed: false })
})

test.each<[string, () => void]>([
  ['they are missing', () => rmSync(join(folder, 'node_modules'), { recursive: true })],
  ['node_modules/pg is missing', () => write('node_modules/.package-lock.json', { packages: {} })],
  [
    "another version than the lockfile's",
    () => write('package-lock.json', { packages: { ...lock.packages, 'node_modules/pg': { version: '8.0.1', integrity: 'sha512-c' } } }),
  ],
  ['name other devDependencies', () => write('package.json', { devDependencies: { pg: '8.0.0', zod: '4.0.0' } })],
  ['its Node is missing', () => rmSync(join(folder, 'node_modules/.bin/node'))],
])('installs when %s, and keeps standard output clean', (reason, spoil) => {
  spoil()
  const { status, stdout, stderr, installed } = setUp()
  expect({ status, stdout, installed }).toEqual({ status: 0, stdout: '', installed: true })
  expect(stderr).toContain(reason)
  expect(stderr).toContain('npm talks')
})

test('ends with an error when the installation fails, so that nothing is run', () => {
  rmSync(join(folder, 'node_modules'), { recursive: true })
  expect(setUp(7)).toMatchObject({ status: 7, stdout: '' })
})
