import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'

const hooks = `
import { registerHooks } from 'node:module'
registerHooks({ resolve(name, context, next) { if (!/^[./]|^node:|^file:/.test(name)) console.log('loads ' + name); return next(name, context) } })
`
const root = join(import.meta.dirname, '../../..')

function packagesLoadedBy(name: string): string {
  const script = `${hooks}\nawait import(${JSON.stringify(name)})`
  return execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8', cwd: root })
}

it('importing the configuration module loads no driver', () => {
  expect(packagesLoadedBy(pathToFileURL(join(root, 'src/config/index.ts')).href)).toBe('')
})

it('the control: a driver that is loaded is seen', () => {
  expect(packagesLoadedBy('pg')).toContain('loads pg')
})
