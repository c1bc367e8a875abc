// A user's application: an empty folder in which the packed tarball is installed, as from the registry.
import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll } from 'vitest'
import { npmCommand } from '../../scripts/package.ts'
import { createFolder, removeFolder } from '../../servers/folder.ts'
import { packedTarball } from '../setup/servers.ts'

const run = promisify(execFile)
export const root = fileURLToPath(new URL('../../', import.meta.url))

const made: string[] = []
afterAll(() => made.forEach(removeFolder))

export interface Application {
  readonly folder: string
  write(path: string, text: string): string
  /** Runs a program in the folder. A failure carries what it printed. */
  run(command: string, args: readonly string[], env?: Record<string, string>): Promise<{ stdout: string; stderr: string }>
}

/** `packages` are those of our own development dependencies that the application has as well. */
export async function createApplication(packages: readonly string[] = []): Promise<Application> {
  const folder = realpathSync(createFolder('application'))
  made.push(folder)
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'application', private: true }))
  const [command, ...args] = npmCommand()
  const flags = ['install', '--offline', '--no-audit', '--no-fund', '--legacy-peer-deps', '--loglevel=error']
  execFileSync(command, [...args, ...flags, await packedTarball()], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
  for (const name of packages) {
    const link = join(folder, 'node_modules', name)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(join(root, 'node_modules', name), link)
  }
  return {
    folder,
    write(path, text) {
      const file = join(folder, path)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, text)
      return file
    },
    async run(program, programArgs, env = {}) {
      try {
        return await run(program, programArgs, { cwd: folder, env: { ...process.env, ...env }, maxBuffer: 1 << 26 })
      } catch (error) {
        const { stdout, stderr } = error as { stdout: string; stderr: string }
        throw new Error(`${program} ${programArgs.join(' ')} failed:\n${stdout}${stderr}`, { cause: error })
      }
    },
  }
}

export const ownProgram = (path: string): string => join(root, 'node_modules', path)
