// One opening of the source, and everything that is known while it lasts. After a lost connection it is thrown away as a whole:
// what a new one knows comes from what is stored.
import type { Report } from '../core/index.ts'
import { Alarms } from './alarms.ts'
import { Dispatcher } from './dispatcher.ts'
import { Fencing } from './fencing.ts'
import { LaneKeeper } from './lane-keeper.ts'
import { Lanes } from './lanes.ts'
import type { Settings } from './options.ts'
import { Reader } from './reader.ts'
import { Settler } from './settler.ts'
import { SourceCalls } from './source-calls.ts'

/** After the grace, for aborted publishes to end and lanes to be given back. */
const overtimeMs = 300

export class Session {
  readonly calls: SourceCalls
  /** Resolves with what ended it. Never, when nothing does. */
  readonly broken: Promise<unknown>
  readonly #settings: Settings
  readonly #alarms: Alarms
  readonly #lanes: Lanes
  readonly #dispatcher: Dispatcher
  readonly #settler: Settler
  readonly #reader: Reader
  readonly #keeper: LaneKeeper
  #keeping: Promise<void> = Promise.resolve()
  #isStopping = false

  /**
   * @param count number of lanes of the source
   * @param settled told of each settlement
   */
  constructor(settings: Settings, count: number, report: Report, settled: (messages: number) => void) {
    const { promise, resolve: failed } = Promise.withResolvers<unknown>()
    this.broken = promise
    this.#settings = settings
    const alarms = (this.#alarms = new Alarms(settings.clock))
    const calls = (this.calls = new SourceCalls(settings.source, failed))
    const lanes = (this.#lanes = new Lanes(report))
    const dispatcher: Dispatcher = (this.#dispatcher = new Dispatcher({
      settings,
      lanes,
      alarms,
      report,
      accepted: (lane, messages) => this.#settler.add(lane, messages),
      unknown: (lane) => {
        if (!this.#isStopping) fencing.begin(lane, 'unknown')
      },
      stale: () => this.#keeper.renewNow(),
      failed,
    }))
    const fencing = new Fencing({
      settings,
      calls,
      lanes,
      flights: dispatcher.flights,
      report,
      ready: (lane) => {
        dispatcher.pump(lane)
        this.#reader.roomGrew(lane)
      },
      failed,
    })
    this.#settler = new Settler({
      calls,
      lanes,
      pauses: settings.pauses,
      settled: (touched, messages) => {
        for (const lane of touched) this.#reader.roomGrew(lane)
        settled(messages)
      },
      failed,
    })
    this.#reader = new Reader({ settings, calls, lanes, offer: (messages, asked) => dispatcher.offer(messages, asked), failed })
    this.#keeper = new LaneKeeper({
      settings,
      calls,
      lanes,
      count,
      acquired: (lane) => fencing.begin(lane, 'acquired'),
      renewed: (lane) => {
        if (lane.isStale) dispatcher.pump(lane)
      },
      failed,
    })
    lanes.onDropped = (lane) => {
      dispatcher.forget(lane)
      this.#reader.interrupt()
      this.#keeper.dropped(lane)
    }
  }

  start(): void {
    void this.#reader.run()
    this.#keeping = this.#keeper.run()
  }

  /** Nothing is in hand. */
  get isIdle(): boolean {
    return this.#lanes.all().every((lane) => lane.held === 0)
  }

  /**
   * Takes nothing more, lets what is at the broker end, settles it, and gives the lanes back.
   *
   * @param graceOver resolves when there is no time left
   * @returns messages that were at the broker and whose outcome isn't recorded
   */
  async stop(graceOver: Promise<void>): Promise<number> {
    this.#isStopping = true
    this.#reader.stop()
    this.#dispatcher.stop()
    this.#keeper.stopAcquiring()
    const { flights } = this.#dispatcher
    const finished = flights.ended().then(() => this.#settler.ended())
    await Promise.race([finished, graceOver, this.broken])
    flights.abort()
    const { clock } = this.#settings
    const ended = new AbortController()
    const tooLate = Promise.race([graceOver.then(() => clock.sleep(overtimeMs, ended.signal)), this.broken])
    await Promise.race([finished, tooLate])
    const unsettled = flights.messages + this.#lanes.all().reduce((sum, lane) => sum + lane.accepted, 0)
    this.#keeper.stop()
    // First of all an `acquire` that is under way: what it brings is given back too.
    await Promise.race([this.#keeping, tooLate])
    await Promise.race([this.#keeper.release().catch(() => {}), tooLate])
    ended.abort()
    this.#end()
    return unsettled
  }

  /** The source is lost: forgets everything, and waits until nothing is at the broker any more. */
  async abandon(graceOver: Promise<void>): Promise<void> {
    this.#isStopping = true
    this.#reader.stop()
    this.#dispatcher.stop()
    this.#keeper.stop()
    for (const lane of this.#lanes.all()) this.#lanes.drop(lane, 'source')
    await Promise.race([this.#dispatcher.flights.ended(), graceOver])
    this.#end()
  }

  #end(): void {
    for (const lane of this.#lanes.all()) lane.end()
    this.#alarms.end()
  }
}
