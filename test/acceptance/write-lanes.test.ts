import { Client } from 'pg'
import { expect, test } from 'vitest'
import { laneOf } from '../../src/databases/postgres/lane.ts'
import { createTestDatabase, describePostgres } from '../setup/index.ts'
import { laneValues } from '../unit/databases/postgres/lane-values.ts'

describePostgres('lanes', () => {
  test('the server still says what the table of test values says, whatever the collation of the database', async () => {
    const { url } = await createTestDatabase({ icuLocale: 'en-US' })
    const client = new Client({ connectionString: url })
    await client.connect()
    const texts = [
      ...laneValues.map(([text]) => text),
      ...Array.from({ length: 3000 }, (_, i) =>
        `${'é注😀x'.slice(0, i % 7)}${i * 7919}`.repeat((i % 5) + 1).replace(/\p{Surrogate}/gu, '?'),
      ),
    ]
    const { rows } = await client.query(
      `select (hashtextextended(u.text collate "C", 0) & 2147483647)::text as hash from unnest($1::text[]) with ordinality as u(text, place) order by place`,
      [texts],
    )
    await client.end()
    const hashes = rows.map((row) => Number(row.hash))
    expect(hashes.slice(0, laneValues.length)).toEqual(laneValues.map(([, hash]) => hash))
    expect(texts.map((text) => laneOf(text, 1009))).toEqual(hashes.map((hash) => hash % 1009))
  })
})
