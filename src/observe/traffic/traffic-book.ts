/** What was read last of what the Services carry: for scrapes, pages and commands, which together cost one reading. */
import type { NodeView } from '../../core/backend.ts'
import type { Clock } from '../../core/clock.ts'
import type { Logger } from '../../core/logger.ts'
import type { RouteKey } from '../../core/route.ts'
import type { RouteTraffic, Traffic } from '../../core/traffic.ts'
import type { Family } from '../../net/ip.ts'

/** One IP family. */
export interface TrafficSource {
  /** What the last sync was given to program. */
  view(): NodeView
  /** Empty where the mode cannot count. */
  traffic(signal: AbortSignal): Promise<ReadonlyMap<RouteKey, RouteTraffic>>
  /** A reading that is younger is good enough, because reading is costly. */
  readonly trafficEveryMs?: number
  /** What keeps it from knowing more: a sentence about the last reading. */
  trafficNote?(): string | undefined
}

export interface CarriedView extends Reading {
  readonly view: NodeView
  /** The one before, for rates. */
  readonly before: Reading | undefined
  readonly note?: string
}

/** A family of which nothing can be told now. */
interface Uncounted {
  readonly family: Family
  /** Part of a sentence. */
  readonly why: string
}

/** What can be told without a long wait. */
export interface KnownTraffic {
  readonly carried: readonly CarriedView[]
  readonly uncounted: readonly Uncounted[]
}

interface Reading {
  readonly traffic: ReadonlyMap<RouteKey, RouteTraffic>
  /** When it was read, on the wall clock. */
  readonly atMs: number
}

export interface TrafficBookOptions {
  readonly sources: readonly TrafficSource[]
  readonly clock: Clock
  /** A reading serves several, so it does not end with one who asked. */
  readonly signal: AbortSignal
  readonly log: Logger
}

/** Several who ask at once, such as two scrapers, get the same answer. */
const freshMs = 1_000
/** Reading takes at most one part in so many of the time: a kernel may take seconds to list 10,000 Services. */
const restPerReading = 10
/** Whoever waits for a page has gone by then. */
const longestReadingMs = 60_000
/** For whom counts are one part of the answer. */
const longestWaitMs = 2_000

export class TrafficBook {
  readonly #pages: readonly FamilyPage[]

  constructor({ sources, ...options }: TrafficBookOptions) {
    this.#pages = sources.map((source) => new FamilyPage(source, options))
  }

  /** Does not read anything. */
  views(): readonly NodeView[] {
    return this.#pages.map((page) => page.view())
  }

  /** Never runs two readings of one family at once. */
  read(): Promise<readonly CarriedView[]> {
    return Promise.all(this.#pages.map((page) => page.read()))
  }

  /** The reading before, where a new one takes long. That one goes on, for whoever asks next. */
  async readSoon(): Promise<KnownTraffic> {
    const pages = await Promise.all(this.#pages.map((page) => page.readSoon()))
    const [carried, uncounted]: [CarriedView[], Uncounted[]] = [[], []]
    for (const page of pages)
      if ('why' in page) uncounted.push(page)
      else carried.push(page)
    return { carried, uncounted }
  }
}

class FamilyPage {
  readonly #source: TrafficSource
  readonly #clock: Clock
  readonly #signal: AbortSignal
  readonly #log: Logger
  #reading: Promise<CarriedView> | undefined
  #last: { readonly carried: CarriedView; readonly goodUntil: number } | undefined
  /** A scrape asks once for each series, and all of them get the same answer. */
  #failure: { readonly error: unknown; readonly until: number } | undefined

  constructor(source: TrafficSource, { clock, signal, log }: Omit<TrafficBookOptions, 'sources'>) {
    this.#source = source
    this.#clock = clock
    this.#signal = signal
    this.#log = log
  }

  view(): NodeView {
    return this.#source.view()
  }

  async read(): Promise<CarriedView> {
    if (this.#last !== undefined && this.#clock.monotonic() < this.#last.goodUntil) return this.#last.carried
    if (this.#failure !== undefined && this.#clock.monotonic() < this.#failure.until) throw this.#failure.error
    this.#reading ??= this.#readNow().finally(() => (this.#reading = undefined))
    return this.#reading
  }

  async readSoon(): Promise<CarriedView | Uncounted> {
    const { family } = this.view()
    const answered = new AbortController()
    try {
      const late = this.#clock.sleep(longestWaitMs, answered.signal).then(() => this.#last?.carried)
      const carried = await Promise.race([this.read(), late])
      return carried ?? { family, why: 'the counters are still being read, ask again in a while' }
    } catch (error) {
      return { family, why: error instanceof Error ? error.message : String(error) }
    } finally {
      answered.abort()
    }
  }

  async #readNow(): Promise<CarriedView> {
    const startedAt = this.#clock.monotonic()
    const traffic = await this.#readInTime().catch((error: unknown) => {
      const endedAt = this.#clock.monotonic()
      this.#failure = { error, until: endedAt + Math.max(freshMs, restPerReading * (endedAt - startedAt)) }
      // Here it is told once, however many have asked.
      if (!this.#signal.aborted)
        this.#log.warn('cannot read what the Services carry', { ipFamily: this.view().family, error })
      throw error
    })
    const atMs = this.#clock.now()
    const note = this.#source.trafficNote?.()
    const last = this.#last?.carried
    const carried = {
      view: this.#source.view(),
      traffic: withLastUse(traffic, last?.traffic, atMs),
      atMs,
      before: last && { traffic: last.traffic, atMs: last.atMs },
      ...(note !== undefined && { note }),
    }
    const endedAt = this.#clock.monotonic()
    const youngMs = Math.max(freshMs, this.#source.trafficEveryMs ?? 0, restPerReading * (endedAt - startedAt))
    this.#last = { carried, goodUntil: endedAt + youngMs }
    return carried
  }

  async #readInTime(): Promise<ReadonlyMap<RouteKey, RouteTraffic>> {
    const [late, done] = [new AbortController(), new AbortController()]
    const tooLong = new Error(`to read what the Services carry took longer than ${longestReadingMs / 1000} s`)
    this.#clock.sleep(longestReadingMs, done.signal).then(
      () => late.abort(tooLong),
      () => {},
    )
    try {
      return await this.#source.traffic(AbortSignal.any([this.#signal, late.signal]))
    } catch (error) {
      throw late.signal.aborted ? tooLong : error
    } finally {
      done.abort()
    }
  }
}

/** A counter that has grown since the last reading was used since then. Modes that know it exactly say so themselves. */
function withLastUse(
  now: ReadonlyMap<RouteKey, RouteTraffic>,
  before: ReadonlyMap<RouteKey, RouteTraffic> | undefined,
  atMs: number,
): ReadonlyMap<RouteKey, RouteTraffic> {
  const used = new Map<RouteKey, RouteTraffic>()
  for (const [key, traffic] of now) {
    const old = before?.get(key)
    const endpoints = traffic.endpoints && withEndpointUse(traffic.endpoints, old?.endpoints, before && atMs)
    used.set(key, {
      ...traffic,
      ...(exactUse(traffic) ?? lastUse(traffic, old, before && atMs)),
      ...(endpoints && { endpoints }),
    })
  }
  return used
}

function withEndpointUse(
  now: ReadonlyMap<string, Traffic>,
  before: ReadonlyMap<string, Traffic> | undefined,
  atMs: number | undefined,
): ReadonlyMap<string, Traffic> {
  return new Map(
    [...now].map(([address, traffic]) => [address, { ...traffic, ...lastUse(traffic, before?.get(address), atMs) }]),
  )
}

/** A mode may know it of each endpoint, and not of the whole. */
function exactUse({ lastUsedMs, endpoints }: RouteTraffic): Pick<Traffic, 'lastUsedMs'> | undefined {
  if (lastUsedMs !== undefined || endpoints === undefined) return undefined
  let latest = -Infinity
  for (const endpoint of endpoints.values()) latest = Math.max(latest, endpoint.lastUsedMs ?? -Infinity)
  return latest === -Infinity ? undefined : { lastUsedMs: latest }
}

/** Without a time nothing was read before: what was counted until now may be old. */
function lastUse(now: Traffic, before: Traffic | undefined, atMs: number | undefined): Pick<Traffic, 'lastUsedMs'> {
  if (now.lastUsedMs !== undefined) return {}
  if (atMs !== undefined && use(now) > use(before ?? {})) return { lastUsedMs: atMs }
  return before?.lastUsedMs === undefined ? {} : { lastUsedMs: before.lastUsedMs }
}

function use({ connections = 0, bytesIn = 0, bytesOut = 0 }: Traffic): number {
  return connections + bytesIn + bytesOut
}
