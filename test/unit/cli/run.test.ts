import { describe, expect, it } from 'vitest'
import { exitCodeOf } from '../../../src/cli/frame/exit-code.ts'
import { errorDocument, errorText, toJson } from '../../../src/cli/frame/print-error.ts'
import { commands } from '../../../src/cli/registry.ts'
import { runCommandLine } from '../../../src/cli/run.ts'
import { OutriderError, type OutriderErrorCode } from '../../../src/core/index.ts'
import { recordingIo, type RecordingIo } from './recording-io.ts'

async function run(words: string, options: Parameters<typeof recordingIo>[0] = {}): Promise<RecordingIo & { code: number }> {
  const io = recordingIo(options)
  const code = await runCommandLine(words.split(' ').filter(Boolean), io)
  return { ...io, code }
}

describe('the command line', () => {
  it('explains itself without a command', async () => {
    const { code, stdout, stderr } = await run('')
    expect([code, stderr()]).toEqual([0, ''])
    for (const { name, summary } of commands) expect(stdout()).toMatch(new RegExp(`${name} +${summary}`))
    for (const words of ['help', '--help', '-h']) expect((await run(words)).stdout()).toBe(stdout())
  })

  it.each(commands.map((c) => c.name))('explains %s', async (name) => {
    const { code, stdout } = await run(`help ${name}`)
    expect(code).toBe(0)
    expect(stdout()).toContain(`Usage: outrider ${name}`)
    expect((await run(`${name} --help`)).stdout()).toBe(stdout())
    expect(JSON.parse((await run(`${name} --help --json`)).stdout())).toEqual({ command: name, help: stdout().trimEnd() })
  })

  it('prints its version', async () => {
    expect((await run('--version')).stdout()).toMatch(/^\d+\.\d+\.\d+\n$/)
    expect(JSON.parse((await run('--json --version')).stdout())).toEqual({ version: expect.any(String) })
  })

  it.each([
    ['migrat', /unknown command "migrat".*did you mean migrate\?/],
    ['fixtures', /fixtures: got nothing after it/],
    ['fixtures convrt', /did you mean fixtures convert\?/],
    ['help fixtures convert x', /"x": got one word too many/],
    ['--jsno', /--jsno: got an unknown flag.*did you mean --json\?/],
    ['migrate now', /"now": got one word too many/],
    ['migrate --pint', /did you mean --print\?/],
    ['migrate --from 0', /--from: got the flag without --print/],
    ['fixtures convert', /FILE.csv: got nothing/],
    ['fixtures convert a.csv --event X', /--event: got the flag alone/],
  ])('%s is a usage error', async (words, text) => {
    const { code, stdout, stderr } = await run(words)
    expect([code, stdout()]).toEqual([2, ''])
    expect(stderr()).toMatch(/^USAGE {2}The command line has 1 problem. Nothing was done./)
    expect(stderr()).toMatch(text)
  })

  it('puts exactly one document on standard output under --json, errors too', async () => {
    const { code, stdout, stderr } = await run('--json migrate --lanes 0 --payload x')
    expect(code).toBe(2)
    expect(stdout().split('\n')).toHaveLength(2)
    expect(JSON.parse(stdout())).toMatchObject({ error: { code: 'USAGE', problems: [{ where: '--lanes' }, { where: '--payload' }] } })
    expect(stderr()).toContain('USAGE')
  })

  it('a configuration that lacks everything ends with 2 and says both', async () => {
    const { code, stderr } = await run('relay')
    expect(code).toBe(2)
    expect(stderr()).toMatch(/CONFIG_INVALID[^]*DATABASE_URL[^]*KAFKA_BROKERS/)
  })

  it('migrate without an address ends with 2', async () => {
    const { code, stderr } = await run('migrate')
    expect([code, stderr()]).toEqual([2, expect.stringMatching(/^CONFIG_INVALID .*\n {2}DATABASE_URL: got nothing/)])
  })
})

describe('migrate --print', () => {
  it('prints the SQL with the names, lanes and payload asked for, and touches nothing', async () => {
    const { code, stdout } = await run('migrate --print --schema shop --lanes 3 --payload bytea')
    expect(code).toBe(0)
    expect(stdout()).toMatch(/^create schema if not exists "shop";/)
    expect(stdout()).toContain('bytea')
    const { sql, from } = JSON.parse((await run('migrate --print --json --schema shop --lanes 3 --payload bytea')).stdout()) as {
      sql: string
      from: number
    }
    expect(sql).toBe(stdout())
    expect(from).toBe(0)
  })

  it('takes the schema from OUTRIDER_SCHEMA, and a flag wins', async () => {
    const env = { OUTRIDER_SCHEMA: 'blue', OUTRIDER_TABLE: 'box' }
    expect((await run('migrate --print', { env })).stdout()).toContain('"blue"."box"')
    expect((await run('migrate --print --schema green', { env })).stdout()).toContain('"green"."box"')
  })

  it('refuses a name that PostgreSQL would cut', async () => {
    expect(await run(`migrate --print --schema ${'x'.repeat(64)}`)).toMatchObject({ code: 2 })
  })
})

describe('errors', () => {
  it.each<[OutriderErrorCode, number]>([
    ['USAGE', 2],
    ['CONFIG_INVALID', 2],
    ['DRIVER_MISSING', 2],
    ['SOURCE_FORBIDDEN', 2],
    ['SOURCE_UNREACHABLE', 3],
    ['BROKER_UNREACHABLE', 3],
    ['FIXTURE_INVALID', 1],
    ['SCHEMA_MISSING', 1],
  ])('%s ends with %i', (code, exit) => expect(exitCodeOf(new OutriderError(code, 'x'))).toBe(exit))

  it('are printed as code, message and hint, without passwords', () => {
    const error = new OutriderError('SOURCE_UNREACHABLE', 'postgres://a:hunter2@b/c is down.', { hint: 'Ask a:hunter2@b.' })
    expect(errorText(new OutriderError('USAGE', 'm', { hint: 'h' }), (t) => `*${t}*`)).toBe('*USAGE*  m\n  h')
    expect(errorText(error, (t) => t)).toContain('postgres://a:***@b/c')
    expect(JSON.stringify(errorDocument(error))).toContain('a:***@b/c')
  })

  it('that nobody foresaw keep their stack, and end with 1', () => {
    expect(errorText(new TypeError('x is no y'), (t) => t)).toMatch(/^INTERNAL {2}TypeError: x is no y\n {4}at /)
    expect(errorDocument('plain')).toEqual({ error: { code: 'INTERNAL', message: 'plain', hint: null } })
    expect(exitCodeOf(new TypeError('x'))).toBe(1)
  })

  it('in JSON a number of 64 bits is text', () => expect(toJson({ seq: 2n ** 60n })).toBe('{"seq":"1152921504606846976"}'))
})
