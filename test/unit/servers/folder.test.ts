import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createFolder, removeFolder, sweepFolders } from '../../../servers/folder.ts'

let own: string
beforeEach(() => {
  own = createFolder('unit')
  // Other runs on this machine sweep the real one.
  vi.stubEnv('TMPDIR', own)
})
afterEach(() => {
  vi.unstubAllEnvs()
  removeFolder(own)
})

function make(name: string, owner: { startedAt: string; run: string }): string {
  const path = join(tmpdir(), name)
  mkdirSync(path)
  writeFileSync(join(path, 'owner.json'), JSON.stringify(owner))
  return path
}

test('a folder stays as long as its owner lives, and goes when it is removed', () => {
  const path = createFolder('unit')
  expect(sweepFolders()).toEqual([])
  expect(existsSync(path)).toBe(true)
  removeFolder(path)
  expect(existsSync(path)).toBe(false)
})

test('the folder of a dead owner is swept, and told apart by the run that it belonged to', () => {
  const mine = make('outrider-999999999-unit-mine', { startedAt: '1', run: 'this-run' })
  const other = make('outrider-999999999-unit-other', { startedAt: '1', run: 'another-run' })
  expect(sweepFolders('this-run')).toEqual([mine])
  expect([mine, other].some((path) => existsSync(path))).toBe(false)
})

test('a later process that got the number of a dead owner does not keep its folder', () => {
  const path = make(`outrider-${process.pid}-unit-reused`, { startedAt: 'long ago', run: '' })
  sweepFolders()
  expect(existsSync(path)).toBe(false)
})
