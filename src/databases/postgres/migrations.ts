// Made by scripts/migrations.ts from migrations/*.sql: edit those, then run it.
export const migrations = [
  {
    version: 1,
    name: 'outbox',
    sql: `-- The outbox and everything beside it. Placeholders: {{outbox}}, {{meta}} ... are quoted, qualified names,
-- {{outbox_text}} is the outbox's name as a text literal, {{payload}} a column type, {{lanes}} a number.

-- Written once and never updated. Primary key on seq alone: the least that a writer can pay.
create table {{outbox}} (
  seq bigint generated always as identity (cache 1) primary key,
  id uuid not null default gen_random_uuid(),
  aggregate_type text not null,
  aggregate_id text,
  event_type text not null,
  payload {{payload}},
  headers jsonb,
  topic text,
  key text,
  created_at timestamptz not null default now()
);
comment on table {{outbox}} is 'Events to deliver, in order of seq. Insert only: rows are never updated, and only clean-up deletes them.';
comment on column {{outbox}}.created_at is 'Start of the writing transaction. Information only: nothing is ordered or cut by it.';
comment on column {{outbox}}.payload is 'NULL is a tombstone.';

create table {{meta}} (
  only_row boolean primary key default true check (only_row),
  schema_version int not null,
  lanes int not null check (lanes between 1 and 1024),
  payload_type text not null check (payload_type in ('jsonb', 'json', 'text', 'bytea')),
  system_identifier bigint,
  database_oid oid,
  sequence_filenode oid
);

-- One row a lane, rewritten at each settlement. No primary key and no index at all: with one, each update would walk
-- every dead version of the row while some session holds an old snapshot.
create table {{position}} (
  lane int not null,
  upto bigint not null default 0,
  token bigint not null default 0,
  crashes int not null default 0,
  fence bytea
) with (fillfactor = 50);
alter table {{position}} replica identity full;
comment on table {{position}} is 'upto: every number of this lane at or below it is settled, or parked, or has a gap row of this lane.';

create table {{gap}} (
  lane int not null,
  lo bigint not null,
  hi bigint not null check (hi >= lo),
  since timestamptz not null default clock_timestamp(),
  primary key (lane, lo)
);
comment on table {{gap}} is 'Numbers at or below the upto of their lane that are neither settled nor dead.';

create table {{lease}} (
  lane int primary key,
  owner uuid,
  ends_at timestamptz
) with (fillfactor = 50);

create table {{relay}} (
  id uuid primary key,
  name text not null,
  ends_at timestamptz not null
) with (fillfactor = 50);

create table {{parked}} (
  place bigint generated always as identity primary key,
  lane int not null,
  topic text not null,
  key text,
  state text not null check (state in ('retrying', 'failed', 'waiting')),
  due_at timestamptz check (due_at is null or state = 'retrying'),
  attempts int not null default 0,
  error_class text,
  error_code text,
  last_error text,
  seq bigint not null,
  id uuid not null,
  aggregate_type text not null,
  aggregate_id text,
  event_type text not null,
  payload {{payload}},
  headers jsonb,
  created_at timestamptz not null,
  parked_at timestamptz not null default clock_timestamp()
);
create index on {{parked}} (topic, key, place);
create index on {{parked}} (due_at) where state = 'retrying';

create table {{progress}} (
  at timestamptz primary key default clock_timestamp(),
  upto bigint not null
);
comment on table {{progress}} is 'Once a minute: all numbers up to upto were settled at that time. The only clock of retention.';

insert into {{position}} (lane) select generate_series(0, {{lanes}} - 1);
insert into {{lease}} (lane) select generate_series(0, {{lanes}} - 1);
insert into {{meta}} (schema_version, lanes, payload_type, system_identifier, database_oid, sequence_filenode)
select 1, {{lanes}}, '{{payload}}', c.system_identifier, d.oid,
       pg_relation_filenode(pg_get_serial_sequence({{outbox_text}}, 'seq')::regclass)
from pg_control_system() c, pg_database d where d.datname = current_database();
`,
  },
  {
    version: 2,
    name: 'inbox',
    sql: `-- What a consumer has handled, written in the consumer's own transaction. Several outboxes of one schema share it.
create table if not exists {{inbox}} (
  consumer text not null collate "C",
  message_id text not null collate "C",
  handled_at timestamptz not null default now(),
  primary key (consumer, message_id)
);
create index if not exists {{inbox_handled_at}} on {{inbox}} using brin (handled_at);
`,
  },
] as const
