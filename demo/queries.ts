// All SQL of the demo. Both shops have the same tables, each in a schema of its own.

export type Side = 'outrider' | 'naive'
const schemaOf = { outrider: 'shop', naive: 'naive_shop' } as const

export const createTables = (['outrider', 'naive'] as const)
  .map(
    (side) => `
create schema ${schemaOf[side]};
create table ${schemaOf[side]}.clients (name text primary key, orders int not null);
create table ${schemaOf[side]}.orders (id text primary key, client text not null, n int not null, item text not null, note text, total numeric not null);
create table ${schemaOf[side]}.bills (order_id text not null, client text not null, total numeric not null, billed_at timestamptz not null default now());`,
  )
  .join('\n')

export const addClients = (side: Side): string => `insert into ${schemaOf[side]}.clients select unnest($1::text[]), 0`

/** Locks the client's row until the transaction ends: the numbers of a client come in the order of the commits. */
export const nextOrderOfClient = (side: Side): string =>
  `update ${schemaOf[side]}.clients set orders = orders + 1 where name = $1 returning orders as n`

export const insertOrder = (side: Side): string =>
  `insert into ${schemaOf[side]}.orders (id, client, n, item, note, total) values ($1, $2, $3, $4, $5, $6)`

export const orderIds = (side: Side): string => `select id from ${schemaOf[side]}.orders`
export const orderExists = (side: Side): string => `select 1 from ${schemaOf[side]}.orders where id = $1`
export const orders = (side: Side): string => `select id, client, n, item, note, total::text as total from ${schemaOf[side]}.orders`

export const insertBill = (side: Side): string => `insert into ${schemaOf[side]}.bills (order_id, client, total) values ($1, $2, $3)`
export const bills = (side: Side): string => `select order_id as id, count(*)::int as times from ${schemaOf[side]}.bills group by 1`

/** Ends every other session of this database, as an administrator or a fail-over does. */
export const cutSessions = `select count(pg_terminate_backend(pid))::int as cut from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`

export const serverVersion = `select split_part(current_setting('server_version'), ' ', 1) as version`
export const createDatabase = (name: string): string => `create database "${name}"`
export const dropDatabase = (name: string): string => `drop database if exists "${name}" with (force)`
