// Who may import whom. Each check takes files and gives its complaints, so that a bad sample can be tried as well.
import { importsOf, type Import, type SourceFile } from './sources.ts'

/** Folders of src that may import these others beside themselves; a folder that isn't named may import any. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  core: [],
  write: ['core'],
  databases: ['core'],
  brokers: ['core'],
  formats: ['core'],
  inbox: ['core'],
  relay: ['core'],
  observe: ['core'],
}

const folderOf = (path: string): string | undefined => /^src\/([^/]+)\//.exec(path)?.[1]

export function folderComplaints(files: readonly SourceFile[]): string[] {
  return files.flatMap((file) => {
    const folder = folderOf(file.path)
    const allowed = folder === undefined ? undefined : ALLOWED[folder]
    if (folder === undefined || allowed === undefined) return []
    return importsOf(file).flatMap(({ to }) => {
      if (folder === 'core' && !to.startsWith('src/core/')) return [`${file.path} imports ${to}: core imports nothing but itself`]
      if (!to.startsWith('src/')) return to.includes('/') && !isPackage(to) ? [`${file.path} imports ${to}, which is not in src`] : []
      const other = folderOf(to)
      if (other === folder || (other !== undefined && allowed.includes(other))) return []
      return [`${file.path} imports ${to}: ${folder} may import ${['itself', ...allowed].join(' and ')} only`]
    })
  })
}

const isPackage = (specifier: string): boolean => specifier.startsWith('node:') || /^(@[a-z0-9-]+\/)?[a-z0-9-.]+/.test(specifier)

/** Outside src nothing is shipped, so src must not reach there; and imports name the file, with its ending. */
export function reachComplaints(files: readonly SourceFile[]): string[] {
  return files.flatMap((file) =>
    importsOf(file).flatMap(({ to }) => {
      const own = /^[a-z-]+\//.test(to) && !to.startsWith('node:')
      if (file.path.startsWith('src/') && own && /^(servers|test|scripts|bench|demo|chaos|examples)\//.test(to)) {
        return [`${file.path} imports ${to}, which is not shipped`]
      }
      return /^(src|servers|test)\//.test(to) && !/\.(ts|json|mjs)$/.test(to) ? [`${file.path} imports ${to} without its ending`] : []
    }),
  )
}

/** Import cycles, types included: `a -> b -> a`. */
export function cycleComplaints(files: readonly SourceFile[]): string[] {
  const graph = new Map(files.map((file) => [file.path, [...new Set(importsOf(file).map(({ to }) => to))]]))
  const done = new Set<string>()
  const complaints: string[] = []
  const visit = (path: string, trail: readonly string[]): void => {
    const at = trail.indexOf(path)
    if (at >= 0) complaints.push([...trail.slice(at), path].join(' -> '))
    if (at >= 0 || done.has(path)) return
    for (const next of graph.get(path) ?? []) if (graph.has(next)) visit(next, [...trail, path])
    done.add(path)
  }
  for (const path of graph.keys()) visit(path, [])
  return complaints
}

export interface Manifest {
  readonly dependencies?: Record<string, string>
  readonly optionalDependencies?: Record<string, string>
  readonly peerDependencies?: Record<string, string>
  readonly peerDependenciesMeta?: Record<string, { optional?: boolean }>
}

export function dependencyComplaints(manifest: Manifest): string[] {
  const own = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })
  const hard = Object.keys(manifest.peerDependencies ?? {}).filter((name) => manifest.peerDependenciesMeta?.[name]?.optional !== true)
  return [
    ...own.map((name) => `${name} is a dependency at run time: there are none`),
    ...hard.map((name) => `the peer ${name} is not optional`),
  ]
}

const packageOf = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')

const isBare = ({ to, kind }: Import): boolean =>
  kind !== 'computed' && !to.startsWith('src/') && !to.startsWith('node:') && !to.startsWith('.')

/** Packages that src uses are optional peers, typed by `import type` and loaded by a literal `import()`; and no peer is idle. */
export function driverComplaints(files: readonly SourceFile[], manifest: Manifest, mayCompute: readonly string[] = []): string[] {
  const peers = Object.keys(manifest.peerDependencies ?? {})
  const imports = files.filter((file) => file.path.startsWith('src/')).flatMap(importsOf)
  const loaded = new Set(imports.filter((one) => isBare(one) && one.kind === 'dynamic').map(({ to }) => packageOf(to)))
  return [
    ...imports.flatMap((one) => {
      if (one.kind === 'computed')
        return mayCompute.includes(one.from) ? [] : [`${one.from}: import(${one.to}) is no literal, so a bundler can't see it`]
      if (!isBare(one)) return []
      if (one.kind === 'static') return [`${one.from} loads ${one.to} at once: use import type, and import() where it is needed`]
      return peers.includes(packageOf(one.to)) ? [] : [`${one.from} uses ${one.to}, which is no peer dependency`]
    }),
    ...peers.filter((peer) => !loaded.has(peer)).map((peer) => `no file of src loads the peer ${peer}`),
  ]
}
