import { quoteName } from '../core/index.ts'

/** Type of the outbox's payload column, as given to `outrider migrate`. */
export type PayloadType = 'jsonb' | 'json' | 'text' | 'bytea'

export interface InsertStatements {
  readonly one: string
  readonly many: string
}

/**
 * How the payload's text becomes the column's value. `json` for jsonb too: the column's own type has the last word then, so a column of type
 * json or text keeps each byte although the writer believed it to be jsonb (a jsonb cast would normalise it first, silently).
 * It costs no measurable time.
 */
const payloadFrom: Record<PayloadType, (text: string) => string> = {
  jsonb: (text) => `${text}::json`,
  json: (text) => `${text}::json`,
  text: (text) => text,
  bytea: (text) => `decode(${text}, 'hex')`,
}

/**
 * Both take the same eight columns: as eight texts, or as eight arrays of texts. Every parameter is declared as text and cast by the server,
 * so that no driver guesses. `one` is there because planning `many` costs 140 us more.
 * `order by` the ordinality: the identity takes its numbers in the order of the input.
 */
export function insertStatements(schema: string, table: string, payload: PayloadType): InsertStatements {
  const into = `insert into ${quoteName(schema)}.${quoteName(table)} (id, aggregate_type, aggregate_id, event_type, payload, headers, topic, key)`
  const from = payloadFrom[payload]
  return {
    one: `${into}
values ($1::text::uuid, $2::text, $3::text, $4::text, ${from('$5::text')}, $6::text::jsonb, $7::text, $8::text)`,
    many: `${into}
select r.id::uuid, r.aggregate_type, r.aggregate_id, r.event_type, ${from('r.payload')}, r.headers::jsonb, r.topic, r.key
from unnest($1::text::text[], $2::text::text[], $3::text::text[], $4::text::text[], $5::text::text[], $6::text::text[], $7::text::text[], $8::text::text[])
  with ordinality as r(id, aggregate_type, aggregate_id, event_type, payload, headers, topic, key, place)
order by r.place`,
  }
}

/** Outside of any business transaction: inside one it would make all commits wait for each other. */
export const notify = 'select pg_notify($1::text, $2::text)'
