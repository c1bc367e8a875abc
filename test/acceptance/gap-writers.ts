// Many writers that do everything that a transaction can do around an insert. Each holds a lock of its key before it takes a number,
// so the order of a key's commits is the order of its numbers, and the source must keep it.
import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from 'pg'
import { insert, type Outbox } from './source-driver.ts'
import { copyFrom } from './source-copy.ts'

export interface LoadOptions {
  readonly writers: number
  readonly seconds: number
  /** Keys in all. Few keys: much waiting. @default 60 */
  readonly keys?: number
  /** Tells the events of one load from those of another. */
  readonly name?: string
}

export interface Committed {
  readonly payload: string
  readonly key: string
}

export interface Load {
  /** Resolves when all have ended, with what they committed. */
  readonly finished: Promise<readonly Committed[]>
  /** How often each kind of transaction ended. */
  readonly counts: Readonly<Record<string, number>>
}

const random = Math.random
const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!

/** What the load needs beside the outbox: a trigger that sleeps between number and row, a function that inserts, a business table. */
export async function prepareLoad(outbox: Outbox): Promise<void> {
  await outbox.admin.query(`
    create function outrider.slow() returns trigger language plpgsql as
      $$ begin if random() < 0.02 then perform pg_sleep(random() * 0.3); end if; return new; end $$;
    create trigger slow before insert on outrider.outbox_first for each row execute function outrider.slow();
    create function write_event(key text, what text) returns void language plpgsql as
      $$ begin insert into outrider.outbox (aggregate_type, aggregate_id, event_type, payload) values ('thing', key, 'Happened', what); end $$;
    create table business (key text primary key, changes int not null default 0);
    insert into business select 'k' || n from generate_series(0, 999) n`)
}

const lockKey = (client: Client, key: string): Promise<unknown> =>
  random() < 0.5
    ? client.query('update business set changes = changes + 1 where key = $1', [key])
    : client.query('select from business where key = $1 for update', [key])

const ways: readonly ((client: Client, key: string, payload: string) => Promise<unknown>)[] = [
  (client, key, payload) => insert(client, payload, key),
  (client, key, payload) => insert(client, payload, key, 'outbox_first'),
  (client, key, payload) => client.query('select write_event($1, $2)', [key, payload]),
  (client, key, payload) =>
    copyFrom(
      client,
      'copy outrider.outbox (aggregate_type, aggregate_id, event_type, payload) from stdin',
      `thing\t${key}\tHappened\t${payload}\n`,
    ),
]

export function startLoad(outbox: Outbox, options: LoadOptions): Load {
  const end = performance.now() + options.seconds * 1_000
  const counts: Record<string, number> = {}
  const committed: Committed[] = []
  const count = (what: string): void => void (counts[what] = (counts[what] ?? 0) + 1)
  const keys = Array.from({ length: options.keys ?? 60 }, (_, i) => `k${i}`)

  const transaction = async (client: Client, name: string): Promise<void> => {
    const key = pick(keys)
    const written: Committed[] = []
    await client.query('begin')
    if (random() < 0.5) await lockKey(client, key)
    else await client.query('select from business where key = $1 for no key update', [key])
    for (let rows = 1 + Math.floor(random() * 3); rows > 0; rows--) {
      const payload = `${name}-${rows}`
      if (random() < 0.1) {
        count('savepoint')
        await client.query('savepoint s')
        await pick(ways)(client, key, `undone ${payload}`)
        await client.query('rollback to savepoint s')
      }
      await pick(ways)(client, key, payload)
      written.push({ payload, key })
    }
    const pause = random()
    if (pause < 0.01) count('seconds')
    if (pause < 0.3) await delay(pause < 0.01 ? 500 + random() * 2_000 : random() * 20)
    const fate = random()
    if (fate < 0.15) {
      count('rollback')
      await client.query('rollback')
      return
    }
    if (fate < 0.18) {
      count('prepared')
      await client.query(`prepare transaction '${name}'`)
      await delay(random() * 800)
      if (random() < 0.2) {
        await client.query(`rollback prepared '${name}'`)
        return
      }
      await client.query(`commit prepared '${name}'`)
    } else {
      count('commit')
      await client.query('commit')
    }
    committed.push(...written)
  }

  const writer = async (number: number): Promise<void> => {
    const client = await outbox.connect()
    for (let i = 0; performance.now() < end; i++) await transaction(client, `${options.name ?? 'load'} ${process.pid}-${number}-${i}`)
  }

  /** Locks that conflict with the weak ones move all of a relation's locks to the main lock table while they are being looked at. */
  const stranger = async (): Promise<void> => {
    const client = await outbox.connect()
    await client.query(`set lock_timeout = '15ms'`)
    while (performance.now() < end) {
      for (const sql of ['lock table outrider.outbox in share mode', 'alter sequence outrider.outbox_seq_seq no cycle']) {
        // To ask is enough: got or not.
        count('lock forced')
        await client.query('begin')
        await client.query(sql).catch(() => undefined)
        await client.query('rollback')
      }
      await delay(random() * 30)
    }
  }

  const everybody = [...Array.from({ length: options.writers }, (_, i) => writer(i)), stranger()]
  return { counts, finished: Promise.all(everybody).then(() => committed) }
}
