// Compiles the numbered .sql files into a module, so that a bundle of the library carries them.
// `node scripts/migrations.ts` writes the module, `--check` fails when it is not current.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'

const folder = new URL('../src/databases/postgres/migrations/', import.meta.url)
const target = new URL('../src/databases/postgres/migrations.ts', import.meta.url)

function compiled(): string {
  const entries = readdirSync(folder)
    .filter((file) => file.endsWith('.sql'))
    .toSorted()
    .map((file, index) => {
      const [, version, name] = /^(\d{4})_([a-z_]+)\.sql$/.exec(file) ?? []
      if (version === undefined || name === undefined || Number(version) !== index + 1) {
        throw new Error(`${file}: migrations are numbered without a gap and named 0001_what_it_adds.sql`)
      }
      const sql = readFileSync(new URL(file, folder), 'utf8').replaceAll('\\', '\\\\').replaceAll('`', '\\`').replaceAll('${', '\\${')
      return `  {\n    version: ${Number(version)},\n    name: '${name}',\n    sql: \`${sql}\`,\n  },\n`
    })
  return `// Made by scripts/migrations.ts from migrations/*.sql: edit those, then run it.\nexport const migrations = [\n${entries.join('')}] as const\n`
}

const text = compiled()
if (process.argv.includes('--check')) {
  if (readFileSync(target, 'utf8') !== text) {
    console.error('src/databases/postgres/migrations.ts is not current: run node scripts/migrations.ts')
    process.exitCode = 1
  }
} else writeFileSync(target, text)
