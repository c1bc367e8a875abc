// Compares what the package exports with the list that is kept of it. `--write` brings the list up to date:
// look at the difference, because it is what users may rely on.
import { writeFileSync } from 'node:fs'
import { exportedNames, listedNames, listPath } from '../test/surface/exported-names.ts'

const found = exportedNames()
if (process.argv.includes('--write')) writeFileSync(listPath, `${JSON.stringify(found, null, 2)}\n`)
else if (JSON.stringify(found) !== JSON.stringify(listedNames())) {
  console.error('The exports differ from test/surface/exports.json. If that is meant: node scripts/surface.ts --write')
  process.exitCode = 1
}
