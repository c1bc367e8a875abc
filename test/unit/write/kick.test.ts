import { expect, test } from 'vitest'
import { createKick } from '../../../src/write/kick.ts'

function pool() {
  const calls: unknown[][] = []
  const answers: PromiseWithResolvers<unknown>[] = []
  return {
    calls,
    answers,
    query(...args: unknown[]) {
      calls.push(args)
      const answer = Promise.withResolvers<unknown>()
      answers.push(answer)
      return answer.promise
    },
  }
}
const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

test('many kicks come to one now and one more', async () => {
  const kick = createKick('outrider_outbox')
  const target = pool()
  for (let i = 0; i < 50; i++) kick(target)
  expect(target.calls).toEqual([['select pg_notify($1::text, $2::text)', ['outrider_outbox', '']]])
  target.answers[0]?.resolve({})
  await turn()
  expect(target.calls).toHaveLength(2)
  target.answers[1]?.resolve({})
  await turn()
  expect(target.calls).toHaveLength(2)
  kick(target)
  expect(target.calls).toHaveLength(3)
})

test('a kick never throws and never rejects, and a failed one does not stop the next', async () => {
  const kick = createKick('c')
  const target = pool()
  kick(target)
  target.answers[0]?.reject(new Error('gone'))
  await turn()
  kick(target)
  expect(target.calls).toHaveLength(2)
  const broken = {
    query: () => {
      throw new Error('closed')
    },
  }
  kick(broken)
  kick(broken)
  for (const wrong of [null, undefined, 7, {}]) kick(wrong as never)
})

test('inside of a transaction nothing is sent', () => {
  const kick = createKick('c')
  const target = Object.assign(pool(), { getTransactionStatus: () => 'T' })
  kick(target)
  expect(target.calls).toHaveLength(0)
})
