// All SQL of the PostgreSQL source. Each statement says which index it rides on and what it locks.
import { quoteText, type Names } from './names.ts'

/** Now on the database's clock; a session setting moves it, so that tests can. */
const now = `(clock_timestamp() + coalesce(nullif(current_setting('outrider.skew', true), ''), '0')::interval)`

/** The lane of a row, of `$lanes` lanes: the same hash as laneOf in lane.ts. */
const laneOfRow = (row: string, lanes: number) =>
  `((hashtextextended(coalesce(${row}.key, ${row}.aggregate_id, ${row}.id::text) collate "C", 0) & 2147483647) % ${lanes})::int`

// --- migrations ---------------------------------------------------------------------------------------------

/** Held to the end of the transaction; the second of two migrations waits here. */
export const lockMigrations = (n: Names) => `select pg_advisory_xact_lock(hashtextextended('${n.outbox.replaceAll("'", "''")}', 7331))`

/** One row with the name of the meta table, or null where there is none. */
export const findMeta = `select to_regclass($1)::text as meta`

export const readLayout = (n: Names) => `select schema_version as version from ${n.of('meta')}`

// --- start-up -----------------------------------------------------------------------------------------------

/** Is this the same backend as a moment ago, and which? Asked before anything is set on the session. */
export const whoAmI = `select pg_backend_pid() as pid, pg_is_in_recovery() as standby, current_setting('server_encoding') as encoding`

/** Whatever a role or a database sets by default, these hold. */
const prepare = (timeoutMs: number) =>
  `set row_security = off; set default_transaction_isolation = 'read committed'; set default_transaction_read_only = off; set bytea_output = 'hex'; set timezone = 'UTC'; set datestyle = 'ISO'; set statement_timeout = ${timeoutMs}; set lock_timeout = 0; set idle_session_timeout = 0; set idle_in_transaction_session_timeout = 0`

/** For the session that reads: an asynchronous commit of a position loses nothing, it only repeats. */
export const prepareReading = (timeoutMs: number) => `${prepare(timeoutMs)}; set synchronous_commit = off`

/** For the session that owns: a fence or a lease that was lost in a crash would be used twice. */
export const prepareOwning = (timeoutMs: number) => `${prepare(timeoutMs)}; set synchronous_commit = on`

/** Catalog look-ups by oid. */
export const readSetup = (n: Names) => `
select m.schema_version, m.lanes, m.payload_type, m.system_identifier::text, m.database_oid::text, m.sequence_filenode::text,
  c.system_identifier::text as here_system, d.oid::text as here_database, pg_relation_filenode(q.seqrelid)::text as here_filenode,
  q.seqrelid::regclass::text as sequence, q.seqrelid::text as sequence_oid, a.attrelid::text as table_oid, q.seqcache::text as cache, q.seqincrement::text as increment, a.attidentity as identity,
  has_sequence_privilege(q.seqrelid, 'select') as may_read_sequence,
  has_table_privilege($1::regclass, 'select') as may_read_outbox,
  exists (select from pg_subscription_rel s where s.srrelid = $1::regclass) as subscribed
from ${n.of('meta')} m, pg_control_system() c, pg_database d, pg_attribute a
left join pg_sequence q on q.seqrelid = pg_get_serial_sequence($1, 'seq')::regclass
where d.datname = current_database() and a.attrelid = $1::regclass and a.attname = 'seq'`

/** Fails when row-level security would hide rows: the session has row_security = off. */
export const probeRows = (n: Names) => `select from ${n.outbox} limit 0`

/** The highest position against the sequence: a sequence that is behind was set back. */
export const readHighest = (n: Names, sequence: string) =>
  `select (select max(upto) from ${n.of('position')})::text as upto, case when s.is_called then s.last_value else 0 end::text as last_value from ${sequence} s`

// --- mending, by hand ---------------------------------------------------------------------------------------

/**
 * SQL by which an operator says: these positions belong to this database and sequence. The fences are not: a copy that published under
 * the original's would shut it out.
 */
export function acceptIdentity(names: Names): string {
  return (
    `UPDATE ${names.of('meta')} SET (system_identifier, database_oid, sequence_filenode) = (SELECT c.system_identifier, d.oid, ` +
    `pg_relation_filenode(pg_get_serial_sequence(${quoteText(names.outbox)}, 'seq')::regclass) FROM pg_control_system() c, pg_database d WHERE d.datname = current_database()); ` +
    `UPDATE ${names.of('position')} SET fence = NULL;`
  )
}

/** SQL by which every row of the outbox is undelivered again. */
export function startOver(names: Names): string {
  return `BEGIN; UPDATE ${names.of('position')} SET upto = 0, token = token + 1; DELETE FROM ${names.of('gap')}; ${acceptIdentity(names)} COMMIT;`
}

// --- reading ------------------------------------------------------------------------------------------------

const columns = (pick: (column: string) => string) =>
  ['id', 'aggregate_type', 'aggregate_id', 'event_type', 'payload::text', 'headers::text', 'topic', 'key', 'created_at::text']
    .map(pick)
    .join(', ')

/** Bytes of a payload as text: what is compressed on disk is measured unpacked. */
const payloadBytes = `case when payload is null then 0 when pg_column_compression(payload) is null then pg_column_size(payload) else octet_length(payload::text) end`

/**
 * Rows above a number, in order. Rides on the primary key.
 * $1 from, $2 most rows, $3 most bytes; with `some`, $4: lanes whose rows are wanted whole (of the others only seq and lane).
 */
export const readWindow = (n: Names, lanes: number, some: boolean) => `
select w.lane, w.seq, ${columns((c) => (some ? `case when w.lane = any($4::int[]) then w.${c} end` : `w.${c}`))}
from (
  select o.*, sum(${some ? `case when o.lane = any($4::int[]) then ${payloadBytes} else 0 end` : payloadBytes}) over (order by o.seq rows unbounded preceding) as bytes, row_number() over (order by o.seq) as place
  from (select ${laneOfRow('r', lanes)} as lane, r.* from ${n.outbox} r where r.seq > $1::bigint order by r.seq limit $2::int) o
) w
where w.bytes <= $3::bigint or w.place = 1
order by w.seq`

/** Open numbers again, by primary key. $1 los, $2 his, $3 most rows, $4 most bytes. The last column: how many were found before bytes were counted. */
export const lookAgain = (n: Names, lanes: number) => `
select w.lane, w.seq, ${columns((c) => `w.${c}`)}, w.found
from (
  select o.*, sum(${payloadBytes}) over (order by o.seq rows unbounded preceding) as bytes, row_number() over (order by o.seq) as place, count(*) over () as found
  from (
    select ${laneOfRow('x', lanes)} as lane, x.* from unnest($1::bigint[], $2::bigint[]) r(lo, hi)
    cross join lateral (select * from ${n.outbox} b where b.seq between r.lo and r.hi order by b.seq limit $3::int) x
    order by x.seq limit $3::int
  ) o
) w
where w.bytes <= $4::bigint or w.place = 1
order by w.seq`

/** Which of these numbers are visible. $1 los, $2 his, $3 most rows. Rides on the primary key. */
export const whichAppeared = (n: Names) => `
select x.seq from unnest($1::bigint[], $2::bigint[]) r(lo, hi)
cross join lateral (select b.seq from ${n.outbox} b where b.seq between r.lo and r.hi order by b.seq limit $3::int) x
order by x.seq limit $3::int`

/** What must be as it was, asked after each window. Reads one page of the sequence. */
export const guard = (sequence: string, oid: string) =>
  `select case when s.is_called then s.last_value else 0 end::text, pg_relation_filenode(${oid}::oid::regclass)::text, pg_backend_pid(), pg_is_in_recovery() from ${sequence} s`

/**
 * Transactions that hold ROW EXCLUSIVE on the sequence: nextval takes that lock before the number, the top transaction keeps it to
 * its end, and it is released after the rows are visible. `idle`: since when the session has been idle in its transaction, `prepared`,
 * or null when it is busy or can't be seen. pg_locks takes all lock partitions for a moment.
 */
export const readHolders = (oid: string) => `
select l.virtualtransaction, case when l.pid is null then 'prepared' when a.state like 'idle in transaction%' then a.state_change::text end as idle
from pg_locks l left join pg_stat_activity a on a.pid = l.pid
where l.locktype = 'relation' and l.database = (select oid from pg_database where datname = current_database())
  and l.relation = ${oid} and l.mode = 'RowExclusiveLock' and l.granted`

// --- settling -----------------------------------------------------------------------------------------------

/**
 * Records outcomes for several lanes at once. The token is compared in the update itself: a lane that was taken over changes nothing,
 * also when the take-over commits while this waits for its row. Locks the position rows named.
 * $1 lanes, $2 tokens, $3 upto, $4 ctids; gap rows: $5 lanes, $6 lo deleted; $7 lanes, $8 lo, $9 hi inserted; $10 lanes, $11 lo, $12 hi given another end.
 * The position has no index on purpose: with `byPlace` a row is found by its ctid, without it by a scan of the few rows.
 */
export const settle = (n: Names, byPlace: boolean, compareToken = true) => `
with pos as (
  update ${n.of('position')} p set upto = greatest(p.upto, v.upto)
  from unnest($1::int[], $2::bigint[], $3::bigint[], $4::tid[]) v(lane, token, upto, place)
  where ${byPlace ? 'p.ctid = v.place and ' : ''}p.lane = v.lane${compareToken ? ' and p.token = v.token' : ''}
  returning p.lane, p.ctid),
gone as (
  delete from ${n.of('gap')} g using unnest($5::int[], $6::bigint[]) d(lane, lo), pos where g.lane = d.lane and g.lo = d.lo and pos.lane = d.lane),
born as (
  insert into ${n.of('gap')} (lane, lo, hi) select d.lane, d.lo, d.hi from unnest($7::int[], $8::bigint[], $9::bigint[]) d(lane, lo, hi) join pos on pos.lane = d.lane),
shrunk as (
  update ${n.of('gap')} g set hi = d.hi from unnest($10::int[], $11::bigint[], $12::bigint[]) d(lane, lo, hi), pos
  where g.lane = d.lane and g.lo = d.lo and pos.lane = d.lane)
select lane, ctid::text from pos`

// --- clean-up -----------------------------------------------------------------------------------------------

/**
 * Deletes what is settled of $1, numbers of rows. Rides on the primary key. Position and gap rows are looked at in the statement that
 * deletes, in one snapshot: read before it, they could miss a message that the position has passed since.
 */
export const deleteSettledRows = (n: Names) => `
delete from ${n.outbox} o
where o.seq = any($1::bigint[]) and o.seq <= (select min(upto) from ${n.of('position')})
  and not exists (select from ${n.of('gap')} g where o.seq between g.lo and g.hi)`

// --- ownership ----------------------------------------------------------------------------------------------

/**
 * Takes free lanes: lease and token change in one transaction. Locks the lease rows taken, skips those that another relay is taking,
 * and waits for a settlement of the lane that is under way. `crashes` counts take-overs from a relay that gave nothing back; one that
 * only lost its connection hasn't crashed. $1 owner, $2 lease ms, $3 most lanes, $4 lanes that it holds already (those of an earlier connection it takes back at once).
 */
export const acquireLanes = (n: Names) => `
with free as (
  select lane, coalesce(owner <> $1::uuid, false) as abandoned from ${n.of('lease')} where (owner is null or ends_at < ${now} or owner = $1::uuid) and lane <> all($4::int[]) order by lane limit $3::int for update skip locked),
leased as (
  update ${n.of('lease')} l set owner = $1::uuid, ends_at = ${now} + $2::int * interval '1 ms' from free where l.lane = free.lane returning l.lane, free.abandoned)
update ${n.of('position')} p set token = p.token + 1, crashes = p.crashes + leased.abandoned::int
from leased where p.lane = leased.lane
returning p.lane, p.token::text, p.upto::text, p.ctid::text, p.fence`

/** After the take-over is committed, in a later snapshot: only the holder changes them from then on. In order of numbers, not of their text. $1 lanes. */
export const readGaps = (n: Names) =>
  `select g.lane, g.lo::text, g.hi::text from ${n.of('gap')} g where g.lane = any($1::int[]) order by g.lane, g.lo`

/** Extends all leases of a relay, and its own sign of life. $1 owner, $2 lease ms, $3 name. By primary key and a scan of few rows. */
export const renewLeases = (n: Names) => `
with alive as (
  insert into ${n.of('relay')} as r (id, name, ends_at) values ($1::uuid, $3::text, ${now} + $2::int * interval '1 ms')
  on conflict (id) do update set ends_at = excluded.ends_at)
update ${n.of('lease')} set ends_at = ${now} + $2::int * interval '1 ms' where owner = $1::uuid returning lane`

/** $1 owner, $2 lanes. The lane is free for others when this commits. */
export const releaseLanes = (n: Names) =>
  `update ${n.of('lease')} set owner = null, ends_at = null where owner = $1::uuid and lane = any($2::int[])`

/** $1 owner. */
export const forgetRelay = (n: Names) => `delete from ${n.of('relay')} where id = $1::uuid or ends_at < ${now} - interval '1 hour'`

/** $1 lane, $2 token, $3 fence. Committed synchronously: an epoch used twice makes the broker drop what it says it accepted. */
export const storeFence = (n: Names) =>
  `update ${n.of('position')} set fence = $3::bytea where lane = $1::int and token = $2::bigint returning ctid::text`

// --- lag ----------------------------------------------------------------------------------------------------

/**
 * Backlog by numbers: an upper bound that counts no row, 0 when there is no row above the position and none in a gap row. The oldest
 * of those rows by primary key: an open transaction has no age here before it commits.
 */
export const readLag = (n: Names, sequence: string) => `
select case when above.created_at is null and late.created_at is null then 0
  else greatest(case when s.is_called then s.last_value else 0 end - p.upto, 0) + g.open end::text as backlog,
  coalesce(extract(epoch from ${now} - least(above.created_at, late.created_at)) * 1000, 0)::float8 as oldest_ms
from ${sequence} s cross join (select min(upto) as upto from ${n.of('position')}) p
cross join (select coalesce(sum(hi - lo + 1), 0) as open from (select distinct lo, hi from ${n.of('gap')}) d) g
left join lateral (select created_at from ${n.outbox} where seq > p.upto order by seq limit 1) above on true
left join lateral (
  select min(o.created_at) as created_at from (select distinct lo, hi from ${n.of('gap')}) d
  cross join lateral (select created_at from ${n.outbox} where seq between d.lo and d.hi order by seq limit 1) o) late on true`

export const listen = (channel: string) => `listen ${channel}`
