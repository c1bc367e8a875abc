import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { processesLeft } from '../../setup/processes-left.ts'

test.skipIf(process.platform !== 'linux')('a process that a run started and left is found until it ends', async () => {
  const env = { ...process.env, OUTRIDER_TEST_RUN: 'a-run-of-its-own' }
  const left = spawn(process.execPath, ['-e', 'process.stdin.resume()'], { env, stdio: ['pipe', 'ignore', 'ignore'] })
  await once(left, 'spawn')
  await expect.poll(() => processesLeft('a-run-of-its-own', 0)).toEqual([expect.stringContaining(`${left.pid} `)])
  expect(await processesLeft('another-run', 0)).toEqual([])
  left.stdin.end()
  await once(left, 'exit')
  expect(await processesLeft('a-run-of-its-own')).toEqual([])
})
