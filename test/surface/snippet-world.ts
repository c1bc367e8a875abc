// What a documentation snippet finds around it, when the page doesn't define it: as types, and when it runs.

/** Ambient, so a snippet's own declaration of the same name comes first. */
export const WORLD_TYPES = `
/** A connected pg client, outside a transaction. */
declare const client: import('pg').Client
/** A pg pool. */
declare const pool: import('pg').Pool
/** An order of the application. */
declare const order: { id: string; total: string }
`

/**
 * Runs one snippet: \`client\`, \`pool\` and \`order\` are there, the outbox is migrated, the business table
 * \`orders (id, total)\` is empty, DATABASE_URL and KAFKA_BROKERS are set and the topic \`orders\` exists.
 */
export const WORLD_RUNNER = `
import { pathToFileURL } from 'node:url'
import pg from 'pg'
import { migrate } from 'outrider/postgres'
const connectionString = process.env.DATABASE_URL
globalThis.client = new pg.Client({ connectionString })
globalThis.pool = new pg.Pool({ connectionString })
globalThis.order = { id: 'o-77', total: '9.90' }
await client.connect()
await migrate(client)
await client.query('create table orders (id text primary key, total text)')
await import(pathToFileURL(process.argv[2]).href)
process.exit(0)
`
