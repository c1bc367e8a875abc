import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { env, parseBoolean, parseList, parseNumber } from '../../../src/config/env.ts'
import { gather } from '../../../src/config/problems.ts'
import { masked } from '../../../src/config/secrets.ts'

let folder: string
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'outrider-env-'))))
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true })
})

describe('env', () => {
  it('gives the variable, and the fallback where it is not set or empty', () => {
    vi.stubEnv('SHOP_NAME', 'blue')
    vi.stubEnv('SHOP_EMPTY', '')
    expect(env('SHOP_NAME')).toBe('blue')
    expect(env('SHOP_EMPTY', 'green')).toBe('green')
    expect(env('SHOP_NONE', '')).toBe('')
  })

  it('throws for a variable that is not set, naming the one that was probably meant', () => {
    vi.stubEnv('SHOP_NAMES', 'blue')
    expect(() => env('SHOP_NAME')).toThrow(
      /SHOP_NAME: got nothing, expected the variable SHOP_NAME \(or SHOP_NAME_FILE\) \(did you mean SHOP_NAMES\?\)/,
    )
    expect(() => env('SHOP_NAME')).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
  })

  it('reads a secret from the file that NAME_FILE names, without its last line end, and masks it from then on', () => {
    const file = join(folder, 'secret')
    writeFileSync(file, ' s3cr3t-value \r\n')
    vi.stubEnv('SHOP_PASSWORD_FILE', file)
    expect(env('SHOP_PASSWORD')).toBe(' s3cr3t-value ')
    expect(masked('it is  s3cr3t-value !')).toBe('it is ***!')
  })

  it('does not mask a list of hosts only because it is in a file', () => {
    const file = join(folder, 'brokers')
    writeFileSync(file, 'broker-one:9092\n')
    vi.stubEnv('SHOP_BROKERS_FILE', file)
    expect(env.list('SHOP_BROKERS')).toEqual(['broker-one:9092'])
    expect(masked('broker-one:9092 is down')).toBe('broker-one:9092 is down')
  })

  it('refuses a variable and its file at once, a missing file and an empty one', () => {
    const file = join(folder, 'secret')
    writeFileSync(file, '\n')
    vi.stubEnv('SHOP_PASSWORD_FILE', file)
    expect(() => env('SHOP_PASSWORD')).toThrow(/SHOP_PASSWORD_FILE: got an empty file/)
    vi.stubEnv('SHOP_PASSWORD', 'x')
    expect(() => env('SHOP_PASSWORD')).toThrow(/got both SHOP_PASSWORD and SHOP_PASSWORD_FILE, expected one of them/)
    vi.stubEnv('SHOP_PASSWORD', '')
    vi.stubEnv('SHOP_PASSWORD_FILE', join(folder, 'none'))
    expect(() => env('SHOP_PASSWORD')).toThrow(/SHOP_PASSWORD_FILE: got ENOENT/)
  })

  it('gathers the problems of a whole file while it is loaded, and throws again afterwards', async () => {
    vi.stubEnv('SHOP_SIZE', 'large')
    vi.stubEnv('SHOP_OPEN', 'yes')
    vi.stubEnv('SHOP_HOSTS', 'a,,b')
    const { problems } = await gather(async () => [
      env('SHOP_NONE'),
      env.number('SHOP_SIZE'),
      env.boolean('SHOP_OPEN'),
      env.list('SHOP_HOSTS'),
    ])
    expect(problems.map((p) => [p.where, p.got])).toEqual([
      ['SHOP_NONE', 'nothing'],
      ['SHOP_SIZE', '"large"'],
      ['SHOP_OPEN', '"yes"'],
      ['SHOP_HOSTS', 'an empty item'],
    ])
    expect(() => env('SHOP_NONE')).toThrow('SHOP_NONE')
  })

  it('gives typed values and typed fallbacks', () => {
    vi.stubEnv('SHOP_SIZE', '2.5')
    vi.stubEnv('SHOP_OPEN', 'false')
    vi.stubEnv('SHOP_HOSTS', 'a:1, b:2,')
    expect(env.number('SHOP_SIZE')).toBe(2.5)
    expect(env.number('SHOP_NONE', 0)).toBe(0)
    expect(env.boolean('SHOP_OPEN')).toBe(false)
    expect(env.boolean('SHOP_NONE', false)).toBe(false)
    expect(env.list('SHOP_HOSTS')).toEqual(['a:1', 'b:2'])
    expect(env.list('SHOP_NONE', [])).toEqual([])
  })
})

describe('values of variables', () => {
  it.each(['0', '-1', '500', '0.25', '+3'])('%s is a number', (text) => expect(parseNumber('N', text)).toBe(Number(text)))
  it.each(['', '1e3', '0x10', 'Infinity', '1_000', '5ms', '1.', ' '])('%j is no number', (text) =>
    expect(parseNumber('N', text)).toMatchObject({ expected: expect.any(String) }),
  )
  it.each(['TRUE', 'yes', 'on', '2', ' true', ''])('%j is neither true nor false', (text) =>
    expect(parseBoolean('B', text)).toMatchObject({ expected: expect.any(String) }),
  )
  it('never shows what is in a variable that may be a secret', () => {
    expect(JSON.stringify([parseNumber('API_TOKEN', 'hunter2'), parseBoolean('DB_PASSWORD', 'hunter2')])).not.toContain('hunter2')
  })
  it('cuts a list at commas, without blanks', () => expect(parseList(' a , b')).toEqual(['a', 'b']))
})
