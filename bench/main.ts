// `npm run bench -- NAME [--json]`
import { processIo } from '../src/cli/frame/process-io.ts'
import { runBench } from './runner/run.ts'

void runBench(process.argv.slice(2), processIo(), import.meta.dirname).then((code) => {
  process.exitCode = code
})
