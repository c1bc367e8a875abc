import { expect, test } from 'vitest'
import { enlist } from '../../../src/core/executors/index.ts'

function pgClient(status: string | null, facts: object = {}) {
  return { query: async () => ({ rows: [], rowCount: null }), connect: () => {}, getTransactionStatus: () => status, ...facts }
}

function refusal(candidate: unknown): unknown {
  try {
    enlist(candidate, 'outbox.write')
  } catch (error) {
    return error
  }
  return null
}

test('a pg client in a transaction runs the SQL with its parameters', async () => {
  const calls: unknown[] = []
  const client = pgClient('T', {
    query: async (...args: unknown[]) => {
      calls.push(args)
      return { rows: [{ a: 1 }], rowCount: null }
    },
  })
  const executor = enlist(client, 'outbox.write')
  if (executor.dialect !== 'postgres') throw new Error('no SQL')
  expect(await executor.query('select $1', ['x'])).toEqual({ rows: [{ a: 1 }], rowCount: 0 })
  expect(calls).toEqual([['select $1', ['x']]])
})

test('a statement that was just refused: the status is asked for before anything is sent', async () => {
  const sent: string[] = []
  const client = pgClient('T', {
    readyForQuery: false,
    _activeQuery: null,
    async query(sql: string) {
      sent.push(sql)
      Object.assign(client, { getTransactionStatus: () => 'I', readyForQuery: true })
      return { rows: [], rowCount: null }
    },
  })
  const executor = enlist(client, 'outbox.write')
  if (executor.dialect !== 'postgres') throw new Error('no SQL')
  await expect(executor.query('select 1', [])).rejects.toMatchObject({ code: 'NOT_IN_TRANSACTION' })
  expect(sent).toEqual([''])
})

test.each([
  ['a client outside a transaction', pgClient('I'), 'NOT_IN_TRANSACTION', 'not in a transaction'],
  ['a client that has not connected', pgClient(null), 'NOT_IN_TRANSACTION', 'not in a transaction'],
  ['a client whose transaction failed', pgClient('E'), 'NOT_IN_TRANSACTION', 'has failed'],
  ['a pool', pgClient('T', { totalCount: 1 }), 'NOT_IN_TRANSACTION', 'a pg Pool'],
  ['a client of an old pg', pgClient('T', { getTransactionStatus: undefined }), 'UNKNOWN_EXECUTOR', 'npm install pg@^8.21'],
  ['nothing', undefined, 'UNKNOWN_EXECUTOR', 'got undefined'],
  ['a text', 'postgres://', 'UNKNOWN_EXECUTOR', 'got a string'],
  ['a promise', Promise.resolve(), 'UNKNOWN_EXECUTOR', 'await is missing'],
  ['an object of a class', new Map(), 'UNKNOWN_EXECUTOR', 'a Map'],
  ['a plain object', { a: 1, b: 2 }, 'UNKNOWN_EXECUTOR', 'an object with a, b'],
  ['an object without a prototype', Object.create(null), 'UNKNOWN_EXECUTOR', 'nothing in it'],
  ['a function', function sql() {}, 'UNKNOWN_EXECUTOR', 'the function sql'],
])('%s is refused in words', (_, candidate, code, text) => {
  const error = refusal(candidate)
  expect(error).toMatchObject({ code })
  expect(String(error)).toContain(text)
  expect(String(error)).toContain('Nothing was written')
})
