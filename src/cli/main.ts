#!/usr/bin/env node
// The process around the command line.
import { processIo } from './frame/process-io.ts'
import { runCommandLine } from './run.ts'

void runCommandLine(process.argv.slice(2), processIo()).then((code) => {
  process.exitCode = code
  // A connection that will not end must not keep the process; all output has been taken by now.
  setTimeout(() => process.exit(), 200).unref()
})
