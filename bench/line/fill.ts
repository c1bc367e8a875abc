// The backlog: events of about 500 bytes in jsonb, 1,000 keys.
import type { Client } from 'pg'

export async function fill(client: Client, events: number): Promise<void> {
  await client.query(
    `insert into outrider.outbox (aggregate_type, aggregate_id, event_type, payload)
     select 'order', 'k' || (g % 1000), 'OrderPlaced',
       jsonb_build_object('id', g, 'pad', (select string_agg(md5(g::text || i), '') from generate_series(1, 14) i))
     from generate_series(1, $1::int) g`,
    [events],
  )
  await client.query('vacuum analyze outrider.outbox')
  await client.query('checkpoint')
}

/** Everything is undelivered again: the next contestant gets the same backlog. */
export async function rewind(client: Client): Promise<void> {
  await client.query('update outrider.outbox_position set upto = 0')
  await client.query('delete from outrider.outbox_gap')
  await client.query('update outrider.outbox_lease set owner = null, ends_at = null')
}
