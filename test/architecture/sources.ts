// What the architecture checks look at: the repository's own files, and what each of them imports.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as ts from 'typescript-5.9'

export const root = fileURLToPath(new URL('../../', import.meta.url))

export interface SourceFile {
  /** From the root of the repository, with forward slashes. */
  readonly path: string
  readonly text: string
}

export interface Import {
  readonly from: string
  /** A path from the root of the repository, or a package's or builtin's specifier. */
  readonly to: string
  /** `computed`: a dynamic import of something that is no literal; `to` is then its source text. */
  readonly kind: 'static' | 'type' | 'dynamic' | 'computed'
}

const NOT_OURS = new Set(['.git', 'node_modules', 'dist', '.cache', 'coverage'])

/** Every text file of the repository. */
export function repositoryFiles(folder = ''): SourceFile[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`
    if (entry.isDirectory()) return NOT_OURS.has(entry.name) ? [] : repositoryFiles(path)
    const text = entry.isFile() ? readText(path) : null
    return text === null ? [] : [{ path, text }]
  })
}

/** Null for a file that isn't text, or has just been removed. */
function readText(path: string): string | null {
  try {
    const text = readFileSync(join(root, path), 'utf8')
    return text.includes('\0') ? null : text
  } catch {
    return null
  }
}

export const isCode = (file: SourceFile): boolean => /\.(ts|mts|cts|js|mjs|cjs|sql|java|css)$/.test(file.path)
export const isTypeScript = (file: SourceFile): boolean => file.path.endsWith('.ts')

const parsed = new WeakMap<SourceFile, ts.SourceFile>()

export function parse(file: SourceFile): ts.SourceFile {
  const tree = parsed.get(file) ?? ts.createSourceFile(file.path, file.text, ts.ScriptTarget.Latest, true)
  parsed.set(file, tree)
  return tree
}

/** Every node of the tree, parents first. */
export function nodesOf(tree: ts.Node): ts.Node[] {
  const nodes: ts.Node[] = []
  const visit = (node: ts.Node): void => {
    nodes.push(node)
    ts.forEachChild(node, visit)
  }
  visit(tree)
  return nodes
}

const imported = new WeakMap<SourceFile, Import[]>()

export function importsOf(file: SourceFile): Import[] {
  const imports = imported.get(file) ?? readImports(file)
  imported.set(file, imports)
  return imports
}

function readImports(file: SourceFile): Import[] {
  return nodesOf(parse(file)).flatMap((node): Import[] => {
    if (ts.isImportDeclaration(node)) return [found(file, node.moduleSpecifier, isTypeOnly(node) ? 'type' : 'static')]
    if (ts.isExportDeclaration(node) && node.moduleSpecifier !== undefined) {
      return [found(file, node.moduleSpecifier, node.isTypeOnly ? 'type' : 'static')]
    }
    if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) return [found(file, node.argument.literal, 'type')]
    if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      const [argument] = node.arguments
      return argument === undefined ? [] : [found(file, argument, ts.isStringLiteral(argument) ? 'dynamic' : 'computed')]
    }
    return []
  })
}

function isTypeOnly(node: ts.ImportDeclaration): boolean {
  const clause = node.importClause
  if (clause === undefined) return false
  const named = clause.namedBindings
  const onlyTypes = named !== undefined && ts.isNamedImports(named) && named.elements.every((element) => element.isTypeOnly)
  return clause.isTypeOnly || (clause.name === undefined && onlyTypes)
}

function found(file: SourceFile, specifier: ts.Node, kind: Import['kind']): Import {
  const text = ts.isStringLiteral(specifier) ? specifier.text : specifier.getText()
  const to = text.startsWith('.') ? normalize(join(dirname(file.path), text)).replaceAll('\\', '/') : text
  return { from: file.path, to, kind }
}
