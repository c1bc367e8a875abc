import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { partitionFor } from '../../../../src/brokers/kafka/index.ts'
import { keys, KEYS } from './partitions/keys.ts'

/** What the real Java client said: partition by key number. */
const table = new Map(
  readFileSync(new URL('partitions/table.txt', import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .map((line) => {
      const [count = '', digits = ''] = line.split(' ')
      return [Number(count), Array.from(digits, (digit) => Number.parseInt(digit, 36))] as const
    }),
)

describe('partitionFor', () => {
  test('gives all keys of the table the partition that the Java client gives them, as text and as bytes', () => {
    expect([...table.keys()]).toEqual([3, 12, 15])
    const all = [...keys()]
    expect(all).toHaveLength(KEYS)
    for (const [count, partitions] of table) {
      expect(all.map((key) => partitionFor(key, count))).toEqual(partitions)
      expect(all.map((key) => partitionFor(new Uint8Array(Buffer.from(key)), count))).toEqual(partitions)
    }
  })

  test('the empty key is a key: it always goes to the same partition', () => {
    expect(partitionFor('', 12)).toBe(table.get(12)?.[0])
    expect(partitionFor(new Uint8Array(0), 12)).toBe(partitionFor('', 12))
  })

  test.each([0, -1, 1.5, Number.NaN])('%s partitions are refused', (count) => {
    expect(() => partitionFor('k', count)).toThrow(RangeError)
  })
})
