import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { cacheDir, cached } from '../../../servers/cache.ts'
import { createFolder, removeFolder } from '../../../servers/folder.ts'

let folder: string
beforeEach(() => {
  folder = createFolder('cache')
  vi.stubEnv('OUTRIDER_CACHE', folder)
})
afterEach(() => {
  vi.unstubAllEnvs()
  removeFolder(folder)
})

test('what is in the cache is not made again', async () => {
  const build = vi.fn((dir: string) => Promise.resolve(writeFileSync(join(dir, 'a'), 'one')))
  const first = await cached('thing', build)
  expect(await cached('thing', build)).toBe(first)
  expect(build).toHaveBeenCalledTimes(1)
  expect(readFileSync(join(first, 'a'), 'utf8')).toBe('one')
})

test('two runs at once both get a whole folder, and nothing half made is left', async () => {
  const both = Promise.withResolvers<void>()
  let building = 0
  const build = async (dir: string): Promise<void> => {
    writeFileSync(join(dir, 'a'), 'first half')
    if (++building === 2) both.resolve()
    await both.promise
    expect(existsSync(join(cacheDir(), 'thing')) && building < 2, 'it appears only when it is whole').toBe(false)
    writeFileSync(join(dir, 'b'), 'second half')
  }
  const [one, two] = await Promise.all([cached('thing', build), cached('thing', build)])
  expect(one).toBe(two)
  expect(readdirSync(one).toSorted()).toEqual(['a', 'b'])
  expect(readdirSync(cacheDir())).toEqual(['thing'])
})

test('a build that fails leaves nothing, and is tried again the next time', async () => {
  await expect(cached('thing', () => Promise.reject(new Error('offline')))).rejects.toThrow('offline')
  expect(readdirSync(cacheDir())).toEqual([])
  expect(existsSync(await cached('thing', () => Promise.resolve()))).toBe(true)
})

test('what a killed run left half made is removed, what a living one is making is not', async () => {
  mkdirSync(cacheDir(), { recursive: true })
  mkdirSync(join(cacheDir(), 'other.999999999-abcdef.part'))
  mkdirSync(join(cacheDir(), `other.${process.pid}-abcdef.part`))
  await cached('thing', () => Promise.resolve())
  expect(readdirSync(cacheDir()).toSorted()).toEqual([`other.${process.pid}-abcdef.part`, 'thing'])
})
