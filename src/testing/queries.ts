// What a test reads of an outbox, in one snapshot. It changes nothing and takes no locks.
import type { PayloadType } from '../databases/postgres/index.ts'
import type { Names } from '../databases/postgres/names.ts'

export const readPayloadType = (n: Names): string => `select payload_type from ${n.of('meta')}`

const payloadText: Record<PayloadType, string> = {
  jsonb: 'o.payload::text',
  json: 'o.payload::text',
  text: 'o.payload',
  bytea: `encode(o.payload, 'hex')`,
}

/**
 * Every event that is still in the outbox. Sent: its lane's position has passed it, no gap of its lane holds it, and it is not parked.
 * The lane is that of laneOf.
 */
export const readEvents = (n: Names, payload: PayloadType): string => `
select r.seq::text as seq, r.id::text as id, r.event_type as type, r.key, r.topic, r.payload, r.headers::text as headers, (
  exists (select from ${n.of('position')} p where p.lane = r.lane and p.upto >= r.seq)
  and not exists (select from ${n.of('gap')} g where g.lane = r.lane and r.seq between g.lo and g.hi)
  and not exists (select from ${n.of('parked')} k where k.seq = r.seq)
) as sent
from (
  select o.seq, o.id, o.event_type, coalesce(o.key, o.aggregate_id) as key, coalesce(o.topic, o.aggregate_type) as topic,
    ${payloadText[payload]} as payload, o.headers,
    (hashtextextended(coalesce(o.key, o.aggregate_id, o.id::text) collate "C", 0) & 2147483647) % m.lanes as lane
  from ${n.outbox} o, ${n.of('meta')} m
) r
order by r.seq`
