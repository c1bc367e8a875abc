import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { onTestFinished } from 'vitest'
import type { createRelay } from '../../../src/relay/index.ts'

/** One rule of the relay, broken: `from` stands once in the file. */
export interface Mutation {
  readonly file: string
  readonly from: string
  readonly to: string
}

const src = join(import.meta.dirname, '../../../src')

/** A copy of the relay in which rules are broken. Removed at the end of the test. */
export async function mutant(...mutations: readonly Mutation[]): Promise<typeof createRelay> {
  const folder = await mkdtemp(join(tmpdir(), 'outrider-mutant-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  for (const part of ['core', 'relay']) await cp(join(src, part), join(folder, part), { recursive: true })
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  for (const { file, from, to } of mutations) {
    const path = join(folder, 'relay', file)
    const parts = (await readFile(path, 'utf8')).split(from)
    if (parts.length !== 2) throw new Error(`"${from}" stands ${parts.length - 1} times in ${file}, not once`)
    await writeFile(path, parts.join(to))
  }
  const relay = (await import(/* @vite-ignore */ pathToFileURL(join(folder, 'relay/index.ts')).href)) as { createRelay: typeof createRelay }
  return relay.createRelay
}
