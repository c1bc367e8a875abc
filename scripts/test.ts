// `npm test`: every check of the repository, then every test. The last line is the count, which CI reads.
// `npm test -- test/unit/x.test.ts` runs only those test files.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createFolder, removeFolder, sweepFolders } from '../servers/folder.ts'
import { processesLeft } from '../test/setup/processes-left.ts'
import type { RunCounts } from '../test/setup/reality-reporter.ts'
import { packTarball, type Tarball } from './package.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
const filters = process.argv.slice(2)
const runId = `${process.pid}-${Date.now().toString(36)}`
const work = createFolder('test')
const totals = { passed: 0, failed: 0, skipped: 0 }

function note(name: string, complaint: string | null, startedAt: number): void {
  totals[complaint === null ? 'passed' : 'failed']++
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1)
  console.log(`${complaint === null ? 'ok    ' : 'FAILED'}  ${name}  (${seconds} s)`)
  if (complaint !== null) console.log(complaint.trimEnd().replace(/^/gm, '        '))
}

/** The path of a program that a development dependency brings. */
function program(packageName: string, bin = packageName): string {
  const path = join(root, 'node_modules', packageName, 'package.json')
  const declared = (JSON.parse(readFileSync(path, 'utf8')) as { bin: string | Record<string, string> }).bin
  return resolve(dirname(path), typeof declared === 'string' ? declared : (declared[bin] ?? ''))
}

function run(args: readonly string[], options: { show: boolean; env?: Record<string, string> }): Promise<{ code: number; output: string }> {
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { ...process.env, ...options.env },
    stdio: options.show ? 'inherit' : ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const add = (chunk: Buffer): void => void (output += chunk.toString())
  child.stdout?.on('data', add)
  child.stderr?.on('data', add)
  return new Promise((done) => child.once('close', (code) => done({ code: code ?? 1, output })))
}

async function check(name: string, args: readonly string[]): Promise<void> {
  const startedAt = performance.now()
  const { code, output } = await run(args, { show: false })
  note(name, code === 0 ? null : output, startedAt)
}

/** Gives the tarball, which the surface tests then install. */
async function checkPackage(): Promise<Tarball | undefined> {
  const startedAt = performance.now()
  try {
    const tarball = packTarball()
    note('build and pack', null, startedAt)
    await check('package (publint)', [program('publint'), 'run', tarball.path, '--strict'])
    await check('types of the package (attw)', [
      program('@arethetypeswrong/cli', 'attw'),
      tarball.path,
      '--profile',
      'esm-only',
      '--no-emoji',
    ])
    return tarball
  } catch (error) {
    note('build and pack', (error as Error).message, startedAt)
  }
}

async function runTests(tarball: Tarball | undefined): Promise<void> {
  const counts = join(work, 'counts.json')
  const env = {
    OUTRIDER_TEST_RUN: runId,
    OUTRIDER_TEST_COUNTS: counts,
    ...(filters.length === 0 ? { OUTRIDER_TEST_WHOLE: 'yes' } : {}),
    ...(tarball === undefined ? {} : { OUTRIDER_TEST_TARBALL: tarball.path }),
  }
  const { code } = await run([program('vitest'), 'run', ...filters], { show: true, env })
  const startedAt = performance.now()
  let found: RunCounts | undefined
  try {
    found = JSON.parse(readFileSync(counts, 'utf8')) as RunCounts
  } catch {
    note('the test run', 'vitest ended before it had counted its cases', startedAt)
  }
  for (const kind of ['passed', 'failed', 'skipped'] as const) totals[kind] += found?.[kind] ?? 0
  if (code !== 0 && found?.failed === 0) note('the test run', `vitest ended with ${code} although no case failed`, startedAt)
}

async function checkLeftovers(): Promise<void> {
  const startedAt = performance.now()
  const left = [...(await processesLeft(runId)), ...sweepFolders(runId).map((path) => `the folder ${path}`)]
  note('nothing is left behind', left.length === 0 ? null : left.join('\n'), startedAt)
}

let tarball: Tarball | undefined
sweepFolders()
try {
  if (filters.length === 0) {
    await Promise.all([
      check('types (tsc)', [program('typescript', 'tsc'), '-p', 'tsconfig.json']),
      check('lint (oxlint)', [program('oxlint')]),
      check('format (oxfmt)', [program('oxfmt'), '--check']),
      check('unused code (knip)', [program('knip')]),
    ])
    tarball = await checkPackage()
  }
  await runTests(tarball)
  await checkLeftovers()
} finally {
  tarball?.remove()
  removeFolder(work)
}
const { passed, failed, skipped } = totals
process.exitCode = failed === 0 ? 0 : 1
console.log(`\n${passed} passed, ${failed} failed${skipped === 0 ? '' : `, ${skipped} skipped`}`)
