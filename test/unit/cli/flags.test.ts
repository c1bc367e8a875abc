import { describe, expect, it } from 'vitest'
import { commonFlags, flagLines, parseFlags, type Flags } from '../../../src/cli/frame/flags.ts'
import { ProblemsError } from '../../../src/config/problems.ts'

const flags = {
  name: { kind: 'text', value: 'NAME', summary: 'a name' },
  lanes: { kind: 'number', value: 'N', min: 1, max: 9, summary: 'lanes' },
  payload: { kind: 'choice', choices: ['jsonb', 'json'], summary: 'payload' },
  print: { kind: 'boolean', summary: 'print' },
  ...commonFlags,
} as const satisfies Flags

const parse = (words: string, operands: readonly string[] = []) =>
  parseFlags(words.split(' ').filter(Boolean), flags, operands, 'outrider test')
function problemsOf(words: string, operands: readonly string[] = []): string[] {
  try {
    parse(words, operands)
  } catch (error) {
    if (error instanceof ProblemsError)
      return error.problems.map((p) => `${p.where}: ${p.got}${p.meant === undefined ? '' : ` | ${p.meant}`}`)
    throw error
  }
  return []
}

describe('parseFlags', () => {
  it('gives typed values, in either spelling and in any order', () => {
    expect(parse('FILE --name a --lanes=3 --print --payload json', ['FILE'])).toEqual({
      flags: { name: 'a', lanes: 3, print: true, payload: 'json' },
      operands: ['FILE'],
    })
  })

  it.each([
    ['--print', true],
    ['--print=true', true],
    ['--print=false', false],
  ])('%s is %s', (words, value) => expect(parse(words).flags['print']).toBe(value))

  it.each([
    ['--print=yes', '--print: "yes"'],
    ['--print=', '--print: ""'],
    ['--nmae a', '--nmae: an unknown flag | --name'],
    ['-x', '-x: an unknown flag'],
    ['--__proto__', '--__proto__: an unknown flag'],
    ['--name', '--name: no value'],
    ['--name --print', '--name: no value'],
    ['--name=', '--name: an empty value'],
    ['--name a --name b', '--name: the flag twice'],
    ['--lanes 0', '--lanes: "0"'],
    ['--lanes -1', '--lanes: "-1"'],
    ['--lanes 2.5', '--lanes: "2.5"'],
    ['--lanes 1e0', '--lanes: "1e0"'],
    ['--payload jsnb', '--payload: "jsnb" | jsonb'],
    ['--no-print', '--no-print: an unknown flag'],
  ])('%s is refused', (words, problem) => expect(problemsOf(words)[0]).toBe(problem))

  it('tells all problems at once', () => expect(problemsOf('--lanes x --payload y --oops', ['FILE'])).toHaveLength(4))
  it('wants exactly the operands that the command names', () => {
    expect(problemsOf('', ['FILE'])).toEqual(['FILE: nothing'])
    expect(problemsOf('a b', ['FILE'])).toEqual(['"b": one word too many'])
    expect(problemsOf('a')).toEqual(['"a": one word too many'])
  })
  it('takes a value that begins with a dash when it is joined', () => expect(parse('--name=--print').flags['name']).toBe('--print'))
  it('takes words after -- as operands', () => expect(parse('-- --name', ['FILE']).operands).toEqual(['--name']))
  it('asks for nothing where help is asked for', () => expect(parse('-h', ['FILE']).flags['help']).toBe(true))
  it('explains each flag in one line', () => expect(flagLines(flags)).toHaveLength(Object.keys(flags).length))
})
