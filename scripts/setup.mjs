// The first step of `npm test`, `npm run demo` and the like. It runs under whatever Node is here, without any dependency,
// and installs from the lockfile when that was not done yet, or for another lockfile. Prints to standard error only.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import process from 'node:process'

const root = fileURLToPath(new URL('../', import.meta.url))
const reason = whyInstall()
if (reason !== null) {
  process.stderr.write(`Installing the dependencies, because ${reason} (npm ci, about 20 s) ...\n`)
  const [command, ...args] = process.env.npm_execpath === undefined ? ['npm'] : [process.execPath, process.env.npm_execpath]
  const flags = ['ci', '--no-audit', '--no-fund', '--loglevel=error']
  const shell = process.platform === 'win32' && args.length === 0
  const { status, error } = spawnSync(command, [...args, ...flags], { cwd: root, stdio: ['ignore', 2, 2], shell })
  if (error !== undefined) process.stderr.write(`npm can't be started: ${error.message}\n`)
  if (status !== 0) {
    process.stderr.write('The installation failed; nothing was run.\n')
    process.exit(status ?? 1)
  }
}

/** What is missing or different of what package-lock.json asks for, in words; null when nothing is. */
function whyInstall() {
  const installed = readJson('node_modules/.package-lock.json')
  if (installed === null) return 'they are missing'
  const { packages } = readJson('package-lock.json') ?? { packages: {} }
  for (const [path, wanted] of Object.entries(packages)) {
    const found = installed.packages[path]
    if (path === '' || wanted.link === true) continue
    // What is only for other systems is optional, and not there.
    if (found === undefined && wanted.optional === true) continue
    if (found === undefined) return `${path} is missing`
    if (found.version !== wanted.version || found.integrity !== wanted.integrity) return `${path} is another version than the lockfile's`
  }
  const declared = readJson('package.json') ?? {}
  for (const kind of ['dependencies', 'devDependencies', 'peerDependencies']) {
    if (!sameEntries(declared[kind] ?? {}, packages['']?.[kind] ?? {})) return `package.json and package-lock.json name other ${kind}`
  }
  if (!existsSync(`${root}node_modules/.bin/node`) && !existsSync(`${root}node_modules/.bin/node.cmd`)) return 'its Node is missing'
  return null
}

function sameEntries(one, other) {
  const names = new Set([...Object.keys(one), ...Object.keys(other)])
  return [...names].every((name) => one[name] === other[name])
}

function readJson(path) {
  try {
    return JSON.parse(readFileSync(root + path, 'utf8'))
  } catch {
    return null
  }
}
