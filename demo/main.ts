// `npm run demo`: the whole line on real servers, with faults, next to a service without an outbox. docs/demo.md tells the story.
import { parseArgs } from 'node:util'
import type { BrokerChoice } from './brokers/choose.ts'
import { createStory } from './story.ts'

const usage = `npm run demo -- [--json] [--broker kafka|memory|auto] [--seconds N]

  --json     one JSON document on standard output; the story goes to standard error
  --broker   auto (the default): KAFKA_BROKERS if it is set, else Docker, else Java with Maven, else the embedded broker;
             kafka: no embedded broker; memory: the embedded one
  --seconds  length of the story without set-up, 10 to 600; the default is 40

Exit status: 0 all as promised, 1 a figure is wrong or a fault did not strike, 2 usage, 3 a server can't be had.`

interface Arguments {
  readonly isJson: boolean
  readonly broker: BrokerChoice
  readonly seconds: number
}

function argumentsOf(args: readonly string[]): Arguments | 'help' | { readonly problem: string } {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        json: { type: 'boolean' },
        broker: { type: 'string' },
        seconds: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    })
    if (values.help === true) return 'help'
    const broker = values.broker ?? 'auto'
    if (broker !== 'auto' && broker !== 'kafka' && broker !== 'memory') return { problem: `--broker is ${broker}: kafka, memory or auto.` }
    const seconds = Number(values.seconds ?? 40)
    if (!(seconds >= 10 && seconds <= 600)) return { problem: `--seconds is ${values.seconds}: a number from 10 to 600.` }
    return { isJson: values.json === true, broker, seconds }
  } catch (error) {
    return { problem: (error as Error).message }
  }
}

async function main(): Promise<number> {
  const args = argumentsOf(process.argv.slice(2))
  if (args === 'help') {
    console.log(usage)
    return 0
  }
  if ('problem' in args) {
    console.error(`${args.problem}\n\n${usage}`)
    return 2
  }
  const story = createStory(args.isJson ? process.stderr : process.stdout)
  story.say(`Outrider demo: about ${args.seconds} s after set-up.`)
  const stop = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => stop.abort(name))
  // Loaded after the first line: it brings the servers and the drivers along.
  const { chooseBroker } = await import('./brokers/choose.ts')
  const { conduct } = await import('./conductor.ts')
  const { NoServer } = await import('./no-server.ts')
  const { jsonOf, problemsOf, tableOf } = await import('./outcome.ts')
  try {
    const choice = chooseBroker(args.broker)
    story.say(` broker   ${choice.because}`)
    const outcome = await conduct({ choice, seconds: args.seconds, story, signal: stop.signal })
    for (const line of tableOf(outcome)) story.say(line)
    const problems = problemsOf(outcome)
    for (const problem of problems) story.say(` WRONG  ${problem}`)
    if (problems.length === 0) story.say('  Try it on your own database: DATABASE_URL=postgres://... npx outrider migrate')
    if (args.isJson) process.stdout.write(`${JSON.stringify(jsonOf(outcome))}\n`)
    return problems.length === 0 ? 0 : 1
  } catch (error) {
    if (stop.signal.aborted) {
      story.say(` stopped by ${String(stop.signal.reason)}: all that was started is ended.`)
      return 130
    }
    console.error(error instanceof NoServer ? error.message : error)
    return error instanceof NoServer ? 3 : 1
  }
}

const status = await main()
// A demo that was stopped in the middle still has timers to wait for; what was written goes out first.
await new Promise<void>((resolve) => process.stdout.write('', () => resolve()))
process.exit(status)
