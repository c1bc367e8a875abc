import { basename, resolve } from 'node:path'
import { ProblemsError } from '../../config/problems.ts'
import { textOf } from '../../core/index.ts'
import { convertCsv } from '../fixtures/convert.ts'
import { loadEventSchema } from '../fixtures/event-schema.ts'
import { defineCommand } from '../frame/command.ts'

export const command = defineCommand({
  about: [
    'Prints a list of JSON objects, one a row; the first line names the columns, and address.city nests.',
    "Without a schema every value stays text. With --events and --event the event's own schema gives the types and checks each row.",
    'A value with nothing in it is null (left out where the schema makes it optional); "" is an empty text.',
    'Any problem is told with its line and column, and then nothing is printed.',
  ].join('\n'),
  operands: ['FILE.csv'],
  givesData: true,
  flags: {
    events: { kind: 'text', value: 'FILE.ts', summary: 'module that exports defineEvents({...})' },
    event: { kind: 'text', value: 'NAME', summary: 'event whose schema the rows follow' },
  },
  async run({ flags, operands, io }) {
    const { events, event } = flags
    if ((events === undefined) !== (event === undefined)) {
      const [where, other] = events === undefined ? ['--event', '--events FILE.ts'] : ['--events', '--event NAME']
      throw new ProblemsError('USAGE', 'The command line', [{ where, got: 'the flag alone', expected: `${other} beside it` }])
    }
    const schema = events === undefined || event === undefined ? null : await loadEventSchema(resolve(io.cwd, events), event)
    const [file = ''] = operands
    const bytes = await io.readFile(resolve(io.cwd, file)).catch((error: unknown) => {
      throw new ProblemsError('USAGE', 'The command line', [{ where: 'FILE.csv', got: textOf(error), expected: 'a file that can be read' }])
    })
    return { kind: 'data', chunks: await convertCsv(bytes, basename(file), schema) }
  },
})
