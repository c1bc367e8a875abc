import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { defineConfig } from '../../../src/config/index.ts'
import { loadConfig, type LoadRequest } from '../../../src/config/load.ts'
import { ProblemsError } from '../../../src/config/problems.ts'

const configModule = pathToFileURL(join(import.meta.dirname, '../../../src/config/index.ts')).href
const plugs = `
const source = () => ({ open() {}, read() {}, settle() {}, close() {} })
const publisher = () => ({ publish() {}, check() {}, close() {} })
`

let cwd: string
beforeEach(() => (cwd = mkdtempSync(join(tmpdir(), 'outrider-load-'))))
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(cwd, { recursive: true })
})

function write(text: string, name = 'outrider.config.ts'): void {
  writeFileSync(join(cwd, name), `import { defineConfig, env } from '${configModule}'\n${plugs}${text}`)
}
async function load(request: Partial<LoadRequest> = {}) {
  return await loadConfig({ cwd, environment: {}, ...request })
}
async function problemsOf(request: Partial<LoadRequest> = {}): Promise<string[]> {
  const error: unknown = await load(request).then(
    () => null,
    (e: unknown) => e,
  )
  if (!(error instanceof ProblemsError)) throw error
  return error.problems.map((p) => `${p.where}: ${p.got} | ${p.expected}${p.meant === undefined ? '' : ` | ${p.meant}`}`)
}

describe('loadConfig', () => {
  it('needs no file when DATABASE_URL and KAFKA_BROKERS are set', async () => {
    const config = await load({ environment: { DATABASE_URL: 'postgres://db/shop', KAFKA_BROKERS: 'a:9092,b:9092' } })
    expect(config).toMatchObject({ file: null, graceMs: 10_000, log: { level: 'info', format: 'text' } })
    expect(config.relays.map((r) => [r.name, r.options.publisher.name])).toEqual([[null, 'kafka']])
  })

  it('names both variables when there is nothing at all', async () => {
    expect(await problemsOf({ environment: { DATABSE_URL: 'x' } })).toEqual([
      'source: nothing | postgres({ url }) in outrider.config.ts, or the variable DATABASE_URL | DATABSE_URL',
      'publisher: nothing | kafka({ brokers }) in outrider.config.ts, or the variable KAFKA_BROKERS',
    ])
  })

  it.each(['outrider.config.ts', 'outrider.config.mjs', 'outrider.config.js'])('finds %s in the folder', async (name) => {
    if (name.endsWith('.js')) writeFileSync(join(cwd, 'package.json'), '{"type":"module"}')
    write(`export default defineConfig({ source: source(), publisher: publisher(), batchSize: 7 })`, name)
    const config = await load()
    expect(config.file).toBe(join(cwd, name))
    expect(config.relays[0]?.options.batchSize).toBe(7)
  })

  it('strips types', async () => {
    write(
      `const size: number = 7\nexport default defineConfig({ source: source(), publisher: publisher(), batchSize: size satisfies number })`,
    )
    expect((await load()).relays[0]?.options.batchSize).toBe(7)
  })

  it('takes a file by name, and says when it is not there', async () => {
    write(`export default { source: source(), publisher: publisher() }`, 'other.ts')
    expect((await load({ file: 'other.ts' })).file).toBe(join(cwd, 'other.ts'))
    expect((await load({ environment: { OUTRIDER_CONFIG: 'other.ts' } })).file).toBe(join(cwd, 'other.ts'))
    expect((await problemsOf({ file: 'none.ts' }))[0]).toContain(`--config: ${join(cwd, 'none.ts')}, which is not there`)
  })

  it('refuses two files', async () => {
    write(`export default {}`)
    write(`export default {}`, 'outrider.config.mjs')
    expect((await problemsOf())[0]).toContain('outrider.config.ts and outrider.config.mjs')
  })

  it('a flag wins over a variable, a variable over the file, the file over the default', async () => {
    write(
      `export default defineConfig({ source: source(), publisher: publisher(), batchSize: 1, maxInFlight: 1, leaseMs: 101, log: { level: 'debug', format: 'json' } })`,
    )
    const environment = { OUTRIDER_BATCH_SIZE: '2', OUTRIDER_MAX_IN_FLIGHT: '2', LOG_LEVEL: 'warn' }
    const config = await load({ environment, overrides: { batchSize: 3 } })
    expect(config.relays[0]?.options).toMatchObject({ batchSize: 3, maxInFlight: 2, leaseMs: 101 })
    expect(config).toMatchObject({ graceMs: 10_000, log: { level: 'warn', format: 'json' } })
  })

  it('tells every problem of the file and of the environment at once', async () => {
    write(
      `export default defineConfig({ sorce: 1, source: 'postgres://x', publisher: publisher(), batchSize: '500', policy: { maxAttemps: 3, maxDelayMs: 0 }, log: { level: 'inf' } })`,
    )
    expect(await problemsOf()).toEqual([
      'sorce: an unknown setting | one of source, publisher, policy, batchSize, maxInFlight, maxBytes, leaseMs, relays, log, graceMs | source',
      'source: a string | a source, such as postgres({ url })',
      'batchSize: "500" | a whole number from 1 to 100000',
      'policy.maxAttemps: an unknown setting | one of maxAttempts, firstDelayMs, maxDelayMs | maxAttempts',
      'policy.maxDelayMs: 0 | a whole number from 1 to 86400000',
      'log.level: "inf" | one of debug, info, warn, error | info',
    ])
  })

  it('tells wrong variables, even where a flag wins', async () => {
    write(`export default { source: source(), publisher: publisher() }`)
    const environment = { OUTRIDER_BATCH_SIZE: 'many', OUTRIDER_GRACE_MS: '-1', LOG_FORMAT: 'xml' }
    expect(await problemsOf({ environment, overrides: { batchSize: 3, logFormat: 'json' } })).toEqual([
      'OUTRIDER_BATCH_SIZE: "many" | a whole number from 1 to 100000',
      'OUTRIDER_GRACE_MS: -1 | a whole number from 0 to 3600000',
      'LOG_FORMAT: "xml" | one of text, json',
    ])
  })

  it('tells all missing variables of a file together', async () => {
    write(
      `if (env('SHOP_A') === '') throw new Error('never told')\nexport default defineConfig({ source: env('SHOP_B'), publisher: publisher() })`,
    )
    expect((await problemsOf()).map((p) => p.split(':')[0])).toEqual(['SHOP_A', 'SHOP_B', 'source'])
  })

  it('tells only the missing variable when the file stumbles over it', async () => {
    write(`throw new Error('bad address ' + env('SHOP_A'))`)
    expect((await problemsOf()).map((p) => p.split(':')[0])).toEqual(['SHOP_A'])
  })

  it('says what is wrong with a file that can not be imported', async () => {
    write(`throw new Error('no luck')`)
    expect(await problemsOf()).toEqual(['outrider.config.ts: no luck | a module that can be imported'])
    write(`import './not-there.ts'`, 'b.ts')
    expect((await problemsOf({ file: 'b.ts' }))[0]).toMatch(/not-there.* \| imports that can be found/)
    write(`export const x = 1`, 'c.ts')
    expect(await problemsOf({ file: 'c.ts' })).toEqual(['export default: nothing | defineConfig({ source, publisher })'])
  })

  it('makes one relay of each name, with what is said beside them for all', async () => {
    write(`export default defineConfig({
      batchSize: 9, policy: { maxAttempts: 2, maxDelayMs: 5 },
      relays: { orders: { source: source(), publisher: publisher(), policy: { maxAttempts: 3 } }, bills: { source: source(), publisher: publisher(), batchSize: 1 } } })`)
    const { relays } = await load()
    expect(relays.map((r) => [r.name, r.options.batchSize, r.options.policy])).toEqual([
      ['orders', 9, { maxAttempts: 3, maxDelayMs: 5 }],
      ['bills', 1, { maxAttempts: 2, maxDelayMs: 5 }],
    ])
  })

  it('refuses relays that share a source or a publisher, wrong names and none at all', async () => {
    write(`export default { publisher: publisher(), relays: { 'a b': { source: source() }, c: { source: source(), relays: {} } } }`)
    expect((await problemsOf()).map((p) => p.split(' | ')[0])).toEqual(['relays.a b: "a b"', 'relays.c.relays: an unknown setting'])
    write(`export default { publisher: publisher(), relays: { a: { source: source() }, b: { source: source() } } }`, 'b.ts')
    expect(await problemsOf({ file: 'b.ts' })).toEqual(['relays.b.publisher: the one of another relay | one of its own'])
    write(`export default { relays: {} }`, 'c.ts')
    expect((await problemsOf({ file: 'c.ts' }))[0]).toContain('relays: no relay')
  })

  it('gives each relay a publisher of its own from the environment', async () => {
    write(`export default { relays: { a: { source: source() }, b: { source: source() } } }`)
    const { relays } = await load({ environment: { KAFKA_BROKERS: 'a:9092' } })
    expect(relays[0]?.options.publisher).not.toBe(relays[1]?.options.publisher)
  })
})

describe('defineConfig', () => {
  it('throws every problem outside a load', () => {
    expect(() => defineConfig({ batchSize: 0, graceMs: 1.5 })).toThrow(/2 problems[^]*batchSize: got 0[^]*graceMs: got 1.5/)
    expect(defineConfig({ batchSize: 1 })).toEqual({ batchSize: 1 })
  })
})
