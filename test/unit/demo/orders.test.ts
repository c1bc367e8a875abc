import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readOrders } from '../../../demo/orders.ts'

const file = new URL('../../../demo/orders.csv', import.meta.url)
const maker = new URL('../../../demo/make-orders.ts', import.meta.url)

test('400 orders of 12 clients, 50 of which roll back', async () => {
  const orders = await readOrders()
  expect(orders).toHaveLength(400)
  expect(new Set(orders.map(({ id }) => id)).size).toBe(400)
  expect(new Set(orders.map(({ client }) => client)).size).toBe(12)
  expect(orders.filter(({ rollsBack }) => rollsBack)).toHaveLength(50)
})

test('the values are the awkward ones', async () => {
  const orders = await readOrders()
  const notes = new Set(orders.map(({ note }) => note))
  for (const note of [
    'She said "no, thanks", twice',
    'two\nlines',
    'Windows\r\nlines, and a comma',
    'line separator \u2028 inside',
    null,
  ]) {
    expect(notes, JSON.stringify(note)).toContain(note)
  }
  expect(new Set(orders.map(({ client }) => client))).toContain('山田商店')
  expect(new Set(orders.map(({ total }) => total))).toContain('12345678901234567890.123456789')
})

test('the file is what its maker writes', () => {
  const folder = mkdtempSync(join(tmpdir(), 'make-orders-'))
  try {
    cpSync(maker, join(folder, 'make-orders.ts'))
    execFileSync(process.execPath, [join(folder, 'make-orders.ts')])
    expect(readFileSync(join(folder, 'orders.csv'), 'utf8')).toBe(readFileSync(file, 'utf8'))
  } finally {
    rmSync(folder, { recursive: true })
  }
})
