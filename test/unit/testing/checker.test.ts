import { describe, expect, test } from 'vitest'
import { checkDelivery, type CommittedMessage, type DeliveredRecord } from '../../../src/testing/checker.ts'

/** `a1` is message 1 of key a. */
const committed = (text: string): CommittedMessage[] => text.split(' ').map((id) => ({ id, key: id[0] ?? '', n: Number(id.slice(1)) }))
const topic = (text: string): DeliveredRecord[] =>
  text === '' ? [] : text.split(' ').map((id) => ({ id, key: id[0] ?? '', partition: (id.codePointAt(0) ?? 0) % 2 }))
const figures = (written: string, delivered: string): Record<string, number> => {
  const { lost, ghosts, reordered, duplicates, lateRepeats } = checkDelivery(committed(written), topic(delivered))
  return { lost, ghosts, reordered, duplicates, lateRepeats }
}
const clean = { lost: 0, ghosts: 0, reordered: 0, duplicates: 0, lateRepeats: 0 }

describe('what is in order', () => {
  test('every committed message once, in order of its key', () => {
    expect(figures('a1 a2 b1 a3 b2', 'b1 a1 b2 a2 a3')).toEqual(clean)
  })

  test('numbers may have holes: only their order counts', () => {
    expect(figures('a1 a5 a9', 'a1 a5 a9')).toEqual(clean)
  })

  test('numbers beyond 2^53 keep their order', () => {
    const huge = 2n ** 60n
    const messages = [1n, 2n].map((add) => ({ id: `m${add}`, key: 'k', n: huge + add }))
    const records = ['m2', 'm1'].map((id) => ({ id, key: 'k' }))
    expect(checkDelivery(messages, records).reordered).toBe(1)
  })

  test.each(['a1 a2 a3 a2 a3', 'a1 a2 a2 a3', 'a1 a2 a3 a3', 'a1 a2 a3 a1 a2 a3', 'a1 a2 a1 a1 a2 a3', 'a1 a2 a1 a2 a2 a3'])(
    'a replay that goes on to the newest message is only duplicates: %s',
    (records) => {
      expect(figures('a1 a2 a3', records)).toEqual({ ...clean, duplicates: records.split(' ').length - 3 })
    },
  )

  test('other keys between the records of a key change nothing', () => {
    expect(figures('a1 a2 b1', 'a1 b1 a2 b1 a1 b1 a2')).toEqual({ ...clean, duplicates: 4 })
  })

  test('messages without a key have no order and are no late repeats', () => {
    const messages = ['x', 'y'].map((id, i) => ({ id, key: null, n: i }))
    const records = ['y', 'x', 'y', 'x'].map((id, partition) => ({ id, key: null, partition }))
    expect(checkDelivery(messages, records)).toMatchObject({ delivered: 2, reordered: 0, lateRepeats: 0, duplicates: 2 })
  })
})

describe('what is not', () => {
  test('a committed message that is nowhere is lost', () => {
    expect(figures('a1 a2 a3', 'a1 a3')).toEqual({ ...clean, lost: 1 })
    expect(figures('a1', '')).toEqual({ ...clean, lost: 1 })
  })

  test('a parked message is not lost, and is told beside', () => {
    const parked = [
      { id: 'a1', state: 'failed' as const },
      { id: 'a2', state: 'waiting' as const },
      { id: 'b1', state: 'retrying' as const },
    ]
    expect(checkDelivery(committed('a1 a2 a3 b1'), topic('b1'), parked)).toMatchObject({ lost: 1, failed: 1, waiting: 1, delivered: 1 })
  })

  test('a message that was never committed is a ghost, once however often it is there', () => {
    expect(figures('a1', 'a1 a2 a2')).toEqual({ ...clean, ghosts: 1 })
  })

  test('a record with another content or key than the committed one is a ghost, and no delivery', () => {
    const message = { id: 'm', key: 'k', n: 1, content: '1.50' }
    expect(checkDelivery([message], [{ id: 'm', key: 'k', content: '1.5' }])).toMatchObject({ ghosts: 1, lost: 1, delivered: 0 })
    expect(checkDelivery([message], [{ id: 'm', key: 'q', content: '1.50' }])).toMatchObject({ ghosts: 1, lost: 1 })
    expect(checkDelivery([message], [{ id: 'm', key: 'k', content: '1.50' }])).toMatchObject({ ghosts: 0, lost: 0 })
  })

  test('a first delivery after a newer one of its key is reordered', () => {
    expect(figures('a1 a2 a3', 'a1 a3 a2')).toEqual({ ...clean, reordered: 1 })
    expect(figures('a1 a2 a3', 'a3 a2 a1')).toEqual({ ...clean, reordered: 2 })
  })

  test('a key in two partitions is reordered: nobody reads two partitions in order', () => {
    const records = ['a1', 'a2'].map((id, partition) => ({ id, key: 'a', partition }))
    expect(checkDelivery(committed('a1 a2'), records).reordered).toBe(1)
  })

  test.each([
    ['the old message is the last word of its key', 'a1 a2 a3 a1', 1],
    ['the replay jumps over a message', 'a1 a2 a3 a1 a3', 1],
    ['an old one comes between newer ones', 'a1 a2 a1 a3', 1],
    ['the replay is cut off before the newest', 'a1 a2 a3 a1 a2', 1],
    ['twice', 'a1 a2 a3 a1 a3 a2', 2],
  ])('a repeat that is no replay is late: %s', (_, records, lateRepeats) => {
    expect(figures('a1 a2 a3', records)).toMatchObject({ lost: 0, reordered: 0, lateRepeats })
  })

  test('two committed messages with one id are refused: the figures would mean nothing', () => {
    expect(() => checkDelivery(committed('a1 a1'), [])).toThrow(RangeError)
  })

  test('the ids behind the figures are told, few of them', () => {
    const { examples } = checkDelivery(committed('a1 a2 a3 b1'), topic('a1 a3 a2 a1 c1'))
    expect(examples).toEqual({ lost: ['b1'], ghosts: ['c1'], reordered: ['a2'], lateRepeats: ['a1'] })
    const many = Array.from({ length: 50 }, (_, i) => ({ id: `m${i}`, key: 'k', n: i }))
    expect(checkDelivery(many, []).examples.lost).toHaveLength(20)
  })
})
