// The code of README.md and docs/*.md. Each block that begins with three backticks and `ts` is compiled as a user's file would be;
// words after `ts` say more:
//   ts run           it is executed as well, on a real PostgreSQL and a real Kafka, and must end without an error
//   ts file=x.ts     it is the file x.ts, which the other blocks of the page import as './x.ts' (`run` may stand beside it)
//   ts group=x       the page's blocks of one group are one file, in their order
// What a page doesn't define itself comes from snippet-world.d.ts. Blocks of other languages are left alone.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Snippet {
  /** From the root of the repository, such as docs/write.md. */
  readonly page: string
  /** Of the block's first line of code, counted from 1. */
  readonly line: number
  /** Where the application keeps it: its lines have the numbers that they have on the page. */
  readonly file: string
  readonly code: string
  readonly run: boolean
}

interface Block {
  readonly line: number
  readonly words: string[]
  readonly lines: string[]
}

export function pagesOf(root: string): string[] {
  const docs = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
  const pages = docs.filter((name) => name.endsWith('.md')).map((name) => `docs/${name.replaceAll('\\', '/')}`)
  return ['README.md', ...pages.toSorted()]
}

export const snippetsOf = (root: string, page: string): Snippet[] => snippetsIn(page, readFileSync(join(root, page), 'utf8'))

export function snippetsIn(page: string, text: string): Snippet[] {
  const folder = page.replace(/\.md$/, '')
  const files = new Map<string, Block[]>()
  for (const block of blocksOf(text)) {
    const [language, ...words] = block.words
    if (language !== 'ts') continue
    const named = new Map(words.map((word) => [word.split('=')[0] ?? '', word.split('=')[1] ?? '']))
    for (const word of named.keys()) {
      if (!['run', 'file', 'group'].includes(word)) throw new Error(`${page}:${block.line - 1}: "${word}" after ts means nothing`)
    }
    const group = named.get('group')
    const file = named.get('file') ?? (group === undefined ? `line-${block.line}.ts` : `group-${group}.ts`)
    files.set(file, [...(files.get(file) ?? []), block])
  }
  return [...files].map(([file, blocks]) => ({
    page,
    line: blocks[0]?.line ?? 0,
    file: `${folder}/${file}`,
    code: `${inPlace(blocks)}\nexport {}\n`,
    run: blocks.some((block) => block.words.includes('run')),
  }))
}

/** Empty lines stand where the page has none of these blocks, so that a compiler's line numbers are the page's. */
function inPlace(blocks: readonly Block[]): string {
  const lines: string[] = []
  for (const block of blocks) {
    while (lines.length < block.line - 1) lines.push('')
    lines.push(...block.lines)
  }
  return lines.join('\n')
}

function blocksOf(text: string): Block[] {
  const blocks: Block[] = []
  let open: (Block & { indent: string }) | undefined
  for (const [index, line] of text.split('\n').entries()) {
    const fence = /^(\s*)```(.*)$/.exec(line)
    if (open !== undefined && fence?.[2] === '') {
      blocks.push(open)
      open = undefined
    } else if (open !== undefined) open.lines.push(line.startsWith(open.indent) ? line.slice(open.indent.length) : line)
    else if (fence !== null) open = { line: index + 2, words: (fence[2] ?? '').trim().split(/\s+/), lines: [], indent: fence[1] ?? '' }
  }
  if (open !== undefined) throw new Error(`The block that begins on line ${open.line - 1} has no end`)
  return blocks
}
