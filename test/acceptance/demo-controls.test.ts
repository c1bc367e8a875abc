// The demo fails when what it shows is broken: a copy of it with parts taken out.
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createTestDatabase, describePostgres } from '../setup/index.ts'
import { demo } from './demo-run.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
let copy: string

beforeEach(() => {
  copy = mkdtempSync(join(tmpdir(), 'demo-controls-'))
  for (const name of ['src', 'servers', 'node_modules', 'package.json']) symlinkSync(join(root, name), join(copy, name))
  cpSync(join(root, 'demo'), join(copy, 'demo'), { recursive: true })
})
afterEach(() => rmSync(copy, { recursive: true }))

function change(file: string, from: string, to: string): void {
  const path = join(copy, 'demo', file)
  const text = readFileSync(path, 'utf8')
  expect(text.split(from), `${file} has the part once`).toHaveLength(2)
  writeFileSync(
    path,
    text.replace(from, () => to),
  )
}

async function play(): Promise<{ readonly code: number | null; readonly errors: string }> {
  const { url } = await createTestDatabase()
  return demo(['--json', '--broker', 'memory', '--seconds', '10'], url, { main: join(copy, 'demo/main.ts') })
}

describePostgres('a broken line', () => {
  test('no inbox, batches turned round, a relay that is killed with nothing in flight', { timeout: 180_000 }, async () => {
    change(
      'billing.ts',
      `inbox.once(tx, message, () => bill(tx, 'outrider', order))`,
      `bill(tx, 'outrider', order).then(() => ({ status: 'processed' }))`,
    )
    change('relay.ts', 'await inner.publish(batch, context)', '(await inner.publish(batch.toReversed(), context)).toReversed()')
    change('relay.ts', '      isHolding = true\n', '')
    const { code, errors } = await play()
    expect(code, errors).toBe(1)
    expect(errors).toMatch(/WRONG {2}outrider: billed twice is [1-9]/)
    expect(errors).toMatch(/WRONG {2}outrider: out of order is [1-9]/)
    expect(errors).toContain('WRONG  the fault relay_killed did not strike')
  })

  test('events in a transaction of their own, and a publisher that says yes too soon', { timeout: 180_000 }, async () => {
    change('shop.ts', 'await outbox.write(tx, ', 'await separately((other) => outbox.write(other, ')
    change('shop.ts', 'note, total })\n    await work(order, 2', 'note, total }))\n    await work(order, 2')
    change(
      'shop.ts',
      '/** Stands still',
      `async function separately(act: (other: Client) => Promise<unknown>): Promise<void> {
  await withClient(task.databaseUrl, async (other) => {
    await other.query('begin')
    await act(other)
    await other.query('commit')
  })
}

/** Stands still`,
    )
    change(
      'shop.ts',
      'import { eventsIn }',
      `import type { Client } from 'pg'\nimport { withClient } from './database.ts'\nimport { eventsIn }`,
    )
    change(
      'relay.ts',
      'await inner.publish(batch, context)',
      `batch.some(({ seq }) => seq % 50n === 0n) ? batch.map(() => ({ kind: 'accepted', position: null }) as const) : await inner.publish(batch, context)`,
    )
    const { code, errors } = await play()
    expect(code, errors).toBe(1)
    expect(errors).toMatch(/WRONG {2}outrider: ghosts is [1-9]/)
    expect(errors).toMatch(/WRONG {2}outrider: lost is [1-9]/)
  })
})
