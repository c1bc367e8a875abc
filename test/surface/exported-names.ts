// The names that each import path of the package exports: its stable surface, kept as a list in exports.json.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as ts from 'typescript-5.9'

const root = fileURLToPath(new URL('../../', import.meta.url))
export const listPath = fileURLToPath(new URL('exports.json', import.meta.url))

/** Import path without the package's name (`.`, `./kafka`) -> sorted `value name` and `type name`. */
export type ExportedNames = Record<string, string[]>

/** The source of each import path of package.json that has types. */
export function entrySources(): Map<string, string> {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    exports: Record<string, string | { types: string }>
  }
  return new Map(
    Object.entries(exports).flatMap(([path, target]) =>
      typeof target === 'string' ? [] : [[path, join(root, target.types.replace('./dist/', 'src/').replace('.d.ts', '.ts'))] as const],
    ),
  )
}

/** Reads them from the sources; needs no build. */
export function exportedNames(): ExportedNames {
  const sources = entrySources()
  const options = {
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2023,
    allowImportingTsExtensions: true,
    noEmit: true,
    types: [],
  }
  const program = ts.createProgram([...sources.values()], options)
  const checker = program.getTypeChecker()
  return Object.fromEntries(
    [...sources].map(([path, source]) => {
      const file = program.getSourceFile(source)
      const module = file === undefined ? undefined : checker.getSymbolAtLocation(file)
      const names =
        module === undefined ? [] : checker.getExportsOfModule(module).map((symbol) => `${kindOf(checker, symbol)} ${symbol.name}`)
      return [path, names.toSorted()]
    }),
  )
}

function kindOf(checker: ts.TypeChecker, symbol: ts.Symbol): 'value' | 'type' {
  const isAlias = (symbol.flags & ts.SymbolFlags.Alias) !== 0
  const isTypeOnly =
    symbol.declarations?.some((one) => ts.isExportSpecifier(one) && (one.isTypeOnly || one.parent.parent.isTypeOnly)) === true
  const target = isAlias ? checker.getAliasedSymbol(symbol) : symbol
  return !isTypeOnly && (target.flags & ts.SymbolFlags.Value) !== 0 ? 'value' : 'type'
}

export const listedNames = (): ExportedNames => JSON.parse(readFileSync(listPath, 'utf8')) as ExportedNames
