// Producers, consumers and edge functions share one events file, so the root export must run where nothing of Node is.
import { createContext, runInContext } from 'node:vm'
import { build } from 'esbuild'
import { expect, test } from 'vitest'

async function bundle(code: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: code, resolveDir: import.meta.dirname, loader: 'ts' },
    bundle: true,
    write: false,
    platform: 'browser',
    format: 'iife',
    logLevel: 'silent',
  })
  return outputFiles[0]?.text ?? ''
}
const entry = JSON.stringify('../../../src/write/index.ts')

test('events, checks and ids run without Buffer, process and node: modules', async () => {
  const code = await bundle(`
    import { createOutbox, defineEvents, event } from ${entry}
    const events = defineEvents({ Placed: event<{ id: string }>({ aggregate: 'order', key: (e) => e.id }) })
    const sent: unknown[] = []
    const tx = { dialect: 'postgres' as const, query: async (_: string, params: readonly unknown[]) => (sent.push(params), { rows: [], rowCount: 1 }) }
    Object.assign(globalThis, { sent, written: createOutbox({ events, payload: 'bytea' }).write(tx, 'Placed', { id: 'é' }) })`)
  const world: { sent?: unknown[][]; written?: Promise<{ id: string }> } = {}
  const context = createContext(Object.assign(world, { TextEncoder, TextDecoder, Uint8Array, crypto: globalThis.crypto }))
  runInContext(code, context)
  const { id } = (await world.written) ?? { id: '' }
  expect(world.sent?.[0]).toEqual([id, 'order', 'é', 'Placed', '7b226964223a22c3a9227d', null, null, null])
})

test('negative control: a module of Node is found by the bundle', async () => {
  await expect(bundle(`import { hostname } from 'node:os'\nimport ${entry}\nhostname()`)).rejects.toThrow('node:os')
})
