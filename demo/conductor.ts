// The conductor: sets the stage, starts the roles, lets the faults strike while messages are under way, and asks the judge.
import { setTimeout as pause } from 'node:timers/promises'
import { textOf } from '../src/core/index.ts'
import { createChildren, type Child, type Children } from './child.ts'
import type { DemoBroker } from './brokers/broker.ts'
import type { Choice } from './brokers/choose.ts'
import { prepareDatabase, startDatabase, withClient, type DemoDatabase } from './database.ts'
import { Facts } from './facts.ts'
import { NoServer } from './no-server.ts'
import { readOrders } from './orders.ts'
import type { FaultKind, Outcome } from './outcome.ts'
import { cutSessions, orderIds, type Side } from './queries.ts'
import type { Story } from './story.ts'
import type {
  BillingTalk,
  FromJudge,
  JudgeTalk,
  Place,
  RelayTalk,
  RelayTask,
  ShopTalk,
  ShopTask,
  ToBilling,
  ToRelay,
  ToShop,
} from './talk.ts'

/** Short, so that a take-over is quick to watch. */
const leaseMs = 1_000
const publishTimeoutMs = 400

/** When things happen, as parts of the whole. */
const act = { stop: 0.15, back: 0.3, hold: 0.42, kill: 0.56, twice: 0.68, cut: 0.76, lastOrder: 0.84 } as const
/** Orders from this place in the file on wait for the fault, so that each strikes while orders come in, however slow the machine is. */
const heldBack = { hold: 230, kill: 310, cut: 370 } as const
const allOrders = 1_000_000
/** Messages that should be in flight when the relay is killed. */
const wantedInFlight = 25
/** How long servers that were starting when the demo was stopped may take to get there. */
const graceMs = 15_000
/** Longest wait for something that is due to happen. */
const patienceMs = 20_000

interface DemoOptions {
  readonly choice: Choice
  /** Length of the story, set-up not counted. */
  readonly seconds: number
  readonly story: Story
  readonly signal: AbortSignal
}

/** Plays the demo. Leaves no process, port or file behind, however it ends. */
export async function conduct({ choice, seconds, story, signal }: DemoOptions): Promise<Outcome> {
  const children = createChildren()
  const opened: { close(): Promise<void> }[] = []
  const keep = async <T extends { close(): Promise<void> }>(starting: Promise<T>): Promise<T> => {
    const started = await starting
    opened.push(started)
    return started
  }
  const aborted = new Promise<never>((_, reject) =>
    signal.addEventListener('abort', () => reject(new Error('The demo was stopped.')), { once: true }),
  )
  const starting = [keep(startDatabase()), keep(choice.start((text) => story.say(`          ${text}`)))] as const
  try {
    const [database, broker] = await Promise.race([Promise.all(starting).catch(cannotStart), aborted])
    return await Promise.race([new Play(children, database, broker, seconds, story).run(), children.failure, aborted])
  } finally {
    // A server that is still starting is waited for, but not for ever: it ends with this process at the latest.
    await Promise.race([Promise.allSettled(starting), pause(graceMs)])
    await children.killAll()
    await Promise.allSettled(opened.map((one) => one.close()))
  }
}

function cannotStart(cause: unknown): never {
  throw new NoServer(`A server can't be had. ${textOf(cause)}`, { cause })
}

class Play {
  readonly #children: Children
  readonly #place: Place
  readonly #database: DemoDatabase
  readonly #broker: DemoBroker
  readonly #seconds: number
  readonly #story: Story
  readonly #facts = new Facts()
  readonly #faults: Partial<Record<FaultKind, number>> = {}
  #startedMs = 0
  #firstAtMs = 0
  #relay: Child<ToRelay> | null = null
  #shops: readonly Child<ToShop>[] = []

  constructor(children: Children, database: DemoDatabase, broker: DemoBroker, seconds: number, story: Story) {
    this.#children = children
    this.#database = database
    this.#broker = broker
    this.#seconds = seconds
    this.#story = story
    const name = `outrider-demo-${process.pid}-${Date.now()}`
    this.#place = { databaseUrl: database.url, broker: broker.address, topics: { outrider: name, naive: `${name}-naive` } }
  }

  async run(): Promise<Outcome> {
    const story = this.#story
    const orders = await readOrders()
    const clients = [...new Set(orders.map(({ client }) => client))]
    await Promise.all([prepareDatabase(this.#database.url, clients), this.#broker.createTopics(Object.values(this.#place.topics))])
    story.say(` servers  real PostgreSQL ${this.#database.version}, ${this.#broker.title}`)
    story.say(` shop     orders.csv: ${orders.length} orders, ${clients.length} clients; 1 of 8 rolls back on purpose`)
    story.say(' two ways naive: COMMIT, then send (1 of 5: send, then COMMIT)     outrider: outbox.write(tx)')
    this.#relay = this.#startRelay()
    const billing = this.#children.start<BillingTalk>('billing', this.#place, (message) => this.#facts.fromBilling(message))
    const shops = this.#startShops(orders.length)
    await this.#expect(() => this.#facts.relaysReady === 1, 'the first relay')
    this.#relay.tell({ do: 'start' })
    await this.#expect(() => this.#facts.relaysStarted === 1 && this.#facts.shopsReady === 2, 'the relay and the shops to start')
    this.#firstAtMs = Date.now()
    this.#open(shops, heldBack.hold)
    this.#startedMs = performance.now()
    story.begin()
    const telling = setInterval(() => this.#tellProgress(), (this.#seconds * 1_000) / 13)
    try {
      await this.#stopBroker()
      await this.#killRelay()
      await this.#killShops(orders.length)
      await this.#deliverTwice(billing)
      await this.#cutSessions()
      await this.#drain()
    } finally {
      clearInterval(telling)
    }
    this.#children.mayEnd(billing)
    await billing.kill()
    const figures = await this.#judge()
    const seconds = Math.round((performance.now() - this.#startedMs) / 100) / 10
    return { figures, faults: this.#faults, broker: this.#broker.title, database: `real PostgreSQL ${this.#database.version}`, seconds }
  }

  #startRelay(): Child<ToRelay> {
    const task: RelayTask = { ...this.#place, leaseMs, publishTimeoutMs }
    return this.#children.start<RelayTalk>('relay', task, (message) => this.#facts.fromRelay(message))
  }

  /** Both shops, each a process that is ready to open. */
  #startShops(count: number): Child<ToShop>[] {
    const task: ShopTask = { ...this.#place, paceMs: (this.#seconds * act.lastOrder * 1_000) / count }
    return (
      [
        ['outrider', 'shop'],
        ['naive', 'naive-shop'],
      ] as const
    ).map(([side, role]) => {
      const shop: Child<ToShop> = this.#children.start<ShopTalk>(role, task, (message) => {
        if (message.is === 'done') this.#children.mayEnd(shop)
        this.#facts.fromShop(side, message)
      })
      return shop
    })
  }

  /** Each takes the orders that it has not done yet, up to a place in the file. */
  #open(shops: readonly Child<ToShop>[], upTo: number): void {
    for (const [i, side] of (['outrider', 'naive'] as const).entries()) {
      shops[i]?.tell({ do: 'open', firstAtMs: this.#firstAtMs, rolledBack: [...this.#facts.rolledBack[side]], upTo })
    }
    this.#shops = shops
  }

  #goOn(upTo: number): void {
    for (const shop of this.#shops) shop.tell({ do: 'go on', upTo })
  }

  async #stopBroker(): Promise<void> {
    const { outage } = this.#broker
    if (outage === null) return this.#story.say('          the broker is not ours: it is not stopped')
    await this.#at(act.stop)
    const before = this.#facts.refusals
    this.#story.tell('BROKER STOPPED', 'fault')
    await outage.stop()
    const delivered = this.#facts.relayDelivered.length
    // It counts when the relay ran into it, and the naive shop too.
    const struck = this.#facts.until(() => this.#facts.refusals > before && this.#facts.naiveGivenUp > 0, patienceMs)
    await this.#at(act.back, outage.startMs)
    this.#faults.broker_stopped = (await struck) ? 1 : 0
    await outage.start()
    await this.#expect(() => this.#facts.relayDelivered.length > delivered, 'the relay to go on after the outage')
    this.#story.tell(`BROKER BACK: resumed at the event of order ${numberOf(this.#facts.relayDelivered[delivered]?.order)}`, 'fault')
  }

  async #killRelay(): Promise<void> {
    const facts = this.#facts
    await this.#at(act.hold)
    const next = this.#startRelay()
    await this.#expect(() => facts.relaysReady === 2, 'the next relay to get ready')
    this.#relay?.tell({ do: 'hold' })
    this.#goOn(heldBack.kill)
    await facts.until(() => facts.inFlight.length >= wantedInFlight, patienceMs)
    await this.#relay?.kill()
    const inFlight = new Set(facts.inFlight)
    this.#faults.relay_killed = inFlight.size > 0 ? 1 : 0
    this.#story.tell(`RELAY KILLED (SIGKILL) with ${inFlight.size} in flight`, 'fault')
    facts.relayDelivered = []
    this.#relay = next
    next.tell({ do: 'start' })
    const sentAgain = (): number => new Set(facts.relayDelivered.filter(({ id }) => inFlight.has(id)).map(({ id }) => id)).size
    await this.#expect(() => sentAgain() === inFlight.size, 'the next relay to send again what was in flight')
    this.#story.tell(`next relay takes over, re-sends ${sentAgain()}`, 'fault')
  }

  async #killShops(count: number): Promise<void> {
    const { caught } = this.#facts
    await this.#at(act.kill)
    const next = this.#startShops(count)
    await this.#expect(() => this.#facts.shopsReady === 4, 'the next shops to get ready')
    const shops = this.#shops
    for (const shop of shops) shop.tell({ do: 'catch' })
    this.#goOn(heldBack.cut)
    this.#faults.shop_killed = (await this.#facts.until(() => caught.outrider.length === 2 && caught.naive.length === 1, patienceMs))
      ? 1
      : 0
    await Promise.all(shops.map((shop) => shop.kill()))
    this.#story.tell(`SHOPS KILLED (SIGKILL): outrider ${caught.outrider.join(' and ')}, naive ${caught.naive.join()}`, 'fault')
    this.#open(next, heldBack.cut)
  }

  async #deliverTwice(billing: Child<ToBilling>): Promise<void> {
    await this.#at(act.twice)
    this.#story.tell('every 10th record delivered twice on purpose', 'fault')
    billing.tell({ do: 'twice' })
  }

  async #cutSessions(): Promise<void> {
    await this.#at(act.cut)
    const before = this.#facts.sessionsLost
    const cut = await withClient(this.#database.url, async (client) => (await client.query<{ cut: number }>(cutSessions)).rows[0]?.cut ?? 0)
    this.#story.tell(`DATABASE SESSIONS CUT: all ${cut} of them`, 'fault')
    this.#goOn(allOrders)
    this.#faults.sessions_cut = (await this.#facts.until(() => this.#facts.sessionsLost > before, patienceMs / 2)) ? cut : 0
  }

  async #drain(): Promise<void> {
    const facts = this.#facts
    await this.#expect(() => facts.shopsDone.size === 2, 'the shops to close')
    const { rows } = await withClient(this.#database.url, (client) => client.query<{ id: string }>(orderIds('outrider')))
    const isThrough = (): boolean => rows.every(({ id }) => facts.delivered.has(id) && facts.handled.outrider.has(id))
    // What is missing after that long is the judge's to find.
    await facts.until(isThrough, patienceMs)
    await facts.until(() => [...facts.naiveSent].every((id) => facts.handled.naive.has(id)), patienceMs / 4)
    this.#faults.delivered_twice = facts.handledTwice
    if (this.#relay !== null) this.#children.mayEnd(this.#relay)
    this.#relay?.tell({ do: 'stop' })
    await this.#expect(() => facts.relaysStopped === 1, 'the relay to stop')
    this.#story.tell('drained; the topic is read from offset 0 by another client')
  }

  async #judge(): Promise<Readonly<Record<Side, FromJudge['outrider']>>> {
    const found = Promise.withResolvers<FromJudge>()
    const judge = this.#children.start<JudgeTalk>('judge', this.#place, (message) => {
      this.#children.mayEnd(judge)
      found.resolve(message)
    })
    const { outrider, naive } = await found.promise
    return { outrider, naive }
  }

  #tellProgress(): void {
    const { orders, naiveSent, delivered } = this.#facts
    const lag = (this.#facts.lagMs(performance.now()) / 1_000).toFixed(2)
    this.#story.tell(`orders ${column(orders)}   naive -> ${column(naiveSent.size)}   outrider -> ${column(delivered.size)}   lag ${lag} s`)
  }

  /** Waits for a moment of the story. */
  async #at(part: number, earlierMs = 0): Promise<void> {
    await pause(Math.max(0, this.#startedMs + part * this.#seconds * 1_000 - earlierMs - performance.now()))
  }

  async #expect(condition: () => boolean, what: string): Promise<void> {
    const facts = this.#facts
    const cameTrue = await facts.until(() => condition() || facts.relayFailure !== null, patienceMs)
    if (facts.relayFailure !== null) throw new Error(`The relay failed. ${facts.relayFailure}`)
    if (!cameTrue) throw new Error(`The demo waited ${patienceMs / 1_000} s for ${what}, in vain.`)
  }
}

const column = (n: number): string => String(n).padStart(3)
const numberOf = (orderId: string | undefined): string => String(Number(orderId?.slice(2)))
