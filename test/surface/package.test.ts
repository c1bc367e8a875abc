// What `npm install outrider` puts on a user's disk.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { createApplication, type Application } from './application.ts'
import { exportedNames, listedNames } from './exported-names.ts'

interface Manifest {
  exports: Record<string, string | { types: string; default: string }>
  bin: Record<string, string>
}

describe('the packed tarball', () => {
  let application: Application
  let files: string[]
  let manifest: Manifest
  const installed = (path: string): string => join(application.folder, 'node_modules/outrider', path)

  beforeAll(async () => {
    application = await createApplication()
    files = readdirSync(installed(''), { recursive: true, encoding: 'utf8' })
    manifest = JSON.parse(readFileSync(installed('package.json'), 'utf8')) as Manifest
  })

  test('holds the compiled library, its types, the licence and the readme, and nothing else', () => {
    const others = files.filter((path) => !/^dist(\/[a-z0-9-]+)*(\.d\.ts|\.js)?$/.test(path))
    const expected = ['LICENSE', 'README.md', 'package.json']
    expect(others.filter((path) => path !== 'CHANGELOG.md').toSorted()).toEqual(expected)
  })

  test('has every file that package.json names', () => {
    const named = [
      ...Object.values(manifest.exports).flatMap((target) => (typeof target === 'string' ? [target] : Object.values(target))),
      ...Object.values(manifest.bin),
    ]
    expect(named.filter((path) => !files.includes(path.replace('./', '')))).toEqual([])
  })

  test('brings its command, which runs', async () => {
    for (const path of Object.values(manifest.bin)) expect(readFileSync(installed(path), 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/)
    const { stdout } = await application.run(join(application.folder, 'node_modules/.bin/outrider'), ['--help'])
    expect(stdout).toMatch(/migrate/)
  })

  test('installs nothing beside itself', () => {
    expect(readdirSync(join(application.folder, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual(['outrider'])
  })
})

test('the exports are those of the list; `node scripts/surface.ts --write` renews it when a change is meant', () => {
  const found = exportedNames()
  expect(found).toEqual(listedNames())
  for (const [path, names] of Object.entries(found)) expect(names, `${path} exports something`).not.toEqual([])
})
