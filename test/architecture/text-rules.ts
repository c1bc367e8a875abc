// What a file may be called, how long it may be and which words it may hold.
import * as ts from 'typescript-5.9'
import { isCode, nodesOf, parse, type SourceFile } from './sources.ts'

const LONGEST = 400

export const lengthComplaints = (files: readonly SourceFile[]): string[] =>
  files.filter(isCode).flatMap(({ path, text }) => {
    const lines = text.replace(/\n$/, '').split('\n').length
    return lines > LONGEST ? [`${path} has ${lines} lines; ${LONGEST} is the most`] : []
  })

const NAMELESS = ['util', 'utils', 'helper', 'helpers', 'common', 'manager', 'managers', 'base', 'misc']

/** Names that say nothing of what is inside. */
export const nameComplaints = (files: readonly SourceFile[]): string[] =>
  files.filter(isCode).flatMap(({ path }) => {
    const word = path
      .toLowerCase()
      .split(/[/.\-_]/)
      .find((part) => NAMELESS.includes(part))
    return word === undefined ? [] : [`${path}: "${word}" says nothing of what is inside`]
  })

/** Each is written so that this file doesn't hold what it looks for. */
const FORBIDDEN: readonly (readonly [RegExp, string])[] = [
  [/\.\.[/]shared\b/, 'a path outside the repository'],
  [/[/]work[/]/, 'a path outside the repository'],
  [/\bissues?\s*#?\d/i, 'speaks of the planning of the work'],
  [/\bC\d{2}\b/, 'a case number of the planning'],
  [/@ts-(?:ignore|nocheck)/, 'silences the compiler'],
]
const EXEMPT = ['LICENSE', 'package-lock.json']

export const wordComplaints = (files: readonly SourceFile[]): string[] =>
  files
    .filter(({ path }) => !EXEMPT.includes(path))
    .flatMap(({ path, text }) =>
      text.split('\n').flatMap((line, index) =>
        FORBIDDEN.flatMap(([pattern, why]) => {
          const match = pattern.exec(line)
          return match === null ? [] : [`${path}:${index + 1}: "${match[0]}" (${why})`]
        }),
      ),
    )

/** A text that is a statement, not a sentence: its first words fit SQL's grammar. */
const STATEMENT =
  /^\s*(select\s[\s\S]*\sfrom\s|select\s+(pg_|set_config|current_|\$|now\(|1\b)|insert\s+into\s|update\s[\s\S]*\sset\s|delete\s+from\s|with\s+\w+(\s*\([^)]*\))?\s+as\s*(materialized\s*|not\s+materialized\s*)?\(|(create|drop|alter)\s+(table|schema|index|sequence|type|role)\s|truncate\s|lock\s+table\s|copy\s[\s\S]*\s(from|to)\s|(listen|notify)\s+["$\w]|set\s+(local|session)?\s*\w+\s*(=|to)\s)/i

/** English begins with one capital; SQL is written in one case. */
const SENTENCE = /^\s*(Select|Update|Delete|Insert|Create|Drop|Alter)\s/

/** SQL stands in queries.ts and in migrations; a hint that shows an operator a statement is no SQL that runs. */
export const sqlComplaints = (files: readonly SourceFile[]): string[] =>
  files
    .filter(({ path }) => path.startsWith('src/') && path.endsWith('.ts') && !/(^|\/)(queries|migrations|migrate)\.ts$/.test(path))
    .flatMap((file) => {
      const tree = parse(file)
      return nodesOf(tree).flatMap((node) => {
        const text = ts.isStringLiteralLike(node) ? node.text : ts.isTemplateExpression(node) ? node.getText().slice(1, -1) : undefined
        if (text === undefined || !STATEMENT.test(text) || SENTENCE.test(text) || isHint(node)) return []
        const line = tree.getLineAndCharacterOfPosition(node.getStart()).line + 1
        return [`${file.path}:${line}: SQL outside queries.ts: ${text.trim().slice(0, 60)}`]
      })
    })

function isHint(node: ts.Node): boolean {
  for (let at: ts.Node | undefined = node.parent; at !== undefined; at = at.parent) {
    if (ts.isPropertyAssignment(at) && /^(hint|sql|mend)$/.test(at.name.getText())) return at.name.getText() !== 'sql'
  }
  return false
}

/** A top-level await in what is shipped makes `require()` of it fail. */
export const awaitComplaints = (files: readonly SourceFile[]): string[] =>
  files
    .filter(({ path }) => path.startsWith('src/') && path.endsWith('.ts'))
    .flatMap((file) =>
      nodesOf(parse(file))
        .filter(
          (node) => (ts.isAwaitExpression(node) || (ts.isForOfStatement(node) && node.awaitModifier !== undefined)) && !isInFunction(node),
        )
        .map((node) => `${file.path}: top-level ${node.getText().slice(0, 40)}`),
    )

function isInFunction(node: ts.Node): boolean {
  for (let at: ts.Node | undefined = node.parent; at !== undefined; at = at.parent) if (ts.isFunctionLike(at)) return true
  return false
}
