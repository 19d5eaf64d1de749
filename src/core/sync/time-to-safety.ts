/**
 * How long new connections could still reach an endpoint that is gone: from its removal in the cluster until this node
 * has programmed it. A pod that goes on serving for that long after it was told to end (a preStop hook that sleeps)
 * loses no connection that comes through this node.
 */
import type { ObjectKey } from '../../api/records.ts'
import { families } from '../../net/ip.ts'
import type { Family } from '../../net/ip.ts'
import type { Change, NodeView } from '../backend.ts'
import type { Clock } from '../clock.ts'
import type { ProxyMetrics } from '../proxy-metrics.ts'
import type { RouteKey } from '../route.ts'
import { bucketOf } from '../bucket.ts'
import type { EndpointRemoval } from './removal-times.ts'

/** The last removal of a Service's endpoint that was programmed here. */
export interface Safety {
  readonly seconds: number
  readonly endpoint: string
  readonly family: Family
  /** When it was programmed, on the wall clock. */
  readonly atMs: number
  readonly measuredFrom: EndpointRemoval['measuredFrom']
}

/** From one fast sync to what a pod is given to end (30 s), and to an outage. */
export const removalBounds: readonly number[] = [
  0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 900,
]

/** All removals of a Service's endpoints since the start. */
export interface Removals {
  readonly last: Safety
  readonly count: number
  /** How many took no longer than this many seconds, and longer than the bound before; only where there are any. */
  readonly spread: readonly { readonly upToSeconds: number; readonly removals: number }[]
}

/** The last removal, written over by the next one: a new object for each would be one more to collect. */
interface ServiceRemovals {
  readonly last: { -readonly [K in keyof Safety]: Safety[K] }
  /** A bucket, then how many removals it has, and so on: most Services need one or two of the buckets. */
  readonly counts: number[]
}

type Viewed = Pick<NodeView, 'family' | 'routesByKey'>

/** What a sync has brought to the data plane. */
export interface CommittedRemovals {
  readonly view: Viewed
  readonly change: Pick<Change, 'keys'>
  readonly removals: readonly EndpointRemoval[]
}

export interface TimeToSafetyOptions {
  readonly clock: Pick<Clock, 'now' | 'monotonic'>
  readonly metrics: Pick<ProxyMetrics, 'endpointRemoved'>
}

const minuteMs = 60_000
const minutesKept = 60
/** Of Services, of which the removals are kept, and of removals that wait for a route that fails. */
const most = 10_000
/** So many removals are sorted by Service at once: one by one, each would find its Service in cold memory. */
const mostUnsorted = 1000

export class TimeToSafety {
  readonly #options: TimeToSafetyOptions
  /** Programmed, and not in `#byService` yet; and when. */
  readonly #unsorted: EndpointRemoval[] = []
  readonly #unsortedAtMs: number[] = []
  /** The least recent first. */
  readonly #byService = new Map<ObjectKey, ServiceRemovals>()
  /** The longest of each minute, by the number of the minute. */
  readonly #longestByMinute = {
    ipv4: new Map<number, Safety>(),
    ipv6: new Map<number, Safety>(),
  } satisfies Record<Family, unknown>

  /** Not programmed yet, although a sync succeeded: by route and endpoint. */
  readonly #waiting = new Map<string, EndpointRemoval>()

  constructor(options: TimeToSafetyOptions) {
    this.#options = options
  }

  /** `failedKeys`: routes that the data plane did not take although the sync as a whole succeeded. */
  committed({ view, change, removals }: CommittedRemovals, failedKeys: readonly RouteKey[]): void {
    if (removals.length === 0 && this.#waiting.size === 0) return
    // The usual case, without the sets and maps of the others: one endpoint is gone, and nothing failed.
    if (removals.length === 1 && failedKeys.length === 0 && this.#waiting.size === 0) {
      if (!isBack(view, removals[0]!)) this.#record(removals[0]!)
      return
    }
    const failed = new Set(failedKeys)
    for (const [place, removal] of this.#due(view, change, removals)) {
      if (!failed.has(removal.key)) {
        this.#waiting.delete(place)
        if (!isBack(view, removal)) this.#record(removal)
      } else if (this.#waiting.size < most) this.#waiting.set(place, removal)
    }
  }

  /** The last removal of one of its endpoints, if there was one. */
  safetyOf(namespace: string, name: string): Safety | undefined {
    const found = this.#sorted().get(`${namespace}/${name}` as ObjectKey)
    return found && { ...found.last }
  }

  removalsOf(namespace: string, name: string): Removals | undefined {
    const found = this.#sorted().get(`${namespace}/${name}` as ObjectKey)
    if (found === undefined) return undefined
    const { last, counts } = found
    const spread: { upToSeconds: number; removals: number }[] = []
    for (let at = 0; at < counts.length; at += 2)
      spread.push({ upToSeconds: removalBounds[counts[at]!] ?? Infinity, removals: counts[at + 1]! })
    spread.sort((one, other) => one.upToSeconds - other.upToSeconds)
    return { last: { ...last }, count: spread.reduce((sum, { removals }) => sum + removals, 0), spread }
  }

  /**
   * The removal of the last hour that took longest: a preStop delay of as many seconds would have been safe on this
   * node. Undefined: no endpoint was removed.
   */
  longestOfLastHour(of: readonly Family[] = families): Safety | undefined {
    const oldest = this.#minute() - minutesKept
    let longest: Safety | undefined
    for (const family of of)
      for (const [minute, safety] of this.#longestByMinute[family])
        if (minute > oldest && safety.seconds >= (longest?.seconds ?? 0)) longest = safety
    return longest
  }

  /** What this sync has tried. Where an endpoint was removed twice, the first time counts. */
  #due(view: Viewed, { keys }: Pick<Change, 'keys'>, removals: readonly EndpointRemoval[]) {
    const due = new Map<string, EndpointRemoval>()
    const tried = new Set(this.#waiting.size === 0 ? [] : keys)
    for (const [place, removal] of this.#waiting)
      if (removal.family === view.family && tried.has(removal.key)) due.set(place, removal)
    for (const removal of removals) {
      const place = `${removal.family} ${removal.key} ${removal.address}`
      if (!due.has(place)) due.set(place, removal)
    }
    return due
  }

  #record(removal: EndpointRemoval): void {
    const { family } = removal
    const atMs = this.#options.clock.now()
    const seconds = secondsOf(removal, atMs)
    this.#options.metrics.endpointRemoved(family, seconds)
    this.#unsorted.push(removal)
    this.#unsortedAtMs.push(atMs)
    if (this.#unsorted.length >= mostUnsorted) this.#sorted()
    const minute = this.#minute()
    const longestByMinute = this.#longestByMinute[family]
    if (seconds < (longestByMinute.get(minute)?.seconds ?? 0)) return
    longestByMinute.set(minute, safetyFrom(removal, atMs))
    for (const old of longestByMinute.keys()) if (old <= minute - minutesKept) longestByMinute.delete(old)
  }

  #sorted(): ReadonlyMap<ObjectKey, ServiceRemovals> {
    for (const [index, removal] of this.#unsorted.entries()) this.#keep(removal, this.#unsortedAtMs[index]!)
    this.#unsorted.length = this.#unsortedAtMs.length = 0
    return this.#byService
  }

  #keep(removal: EndpointRemoval, atMs: number): void {
    const { service } = removal
    const bucket = bucketOf(secondsOf(removal, atMs), removalBounds)
    const found = this.#byService.get(service)
    if (found === undefined) {
      this.#byService.set(service, { last: safetyFrom(removal, atMs), counts: [bucket, 1] })
      if (this.#byService.size > most) this.#byService.delete(firstOf(this.#byService))
      return
    }
    const { last } = found
    last.seconds = secondsOf(removal, atMs)
    last.endpoint = removal.address
    last.family = removal.family
    last.atMs = atMs
    last.measuredFrom = removal.measuredFrom
    countIn(found.counts, bucket)
    // Anew, so that it is the most recent one.
    this.#byService.delete(service)
    this.#byService.set(service, found)
  }

  #minute(): number {
    return Math.floor(this.#options.clock.monotonic() / minuteMs)
  }
}

function safetyFrom(removal: EndpointRemoval, atMs: number): Safety {
  const { address, family, measuredFrom } = removal
  return { seconds: secondsOf(removal, atMs), endpoint: address, family, atMs, measuredFrom }
}

/** Another machine's clock may run ahead of ours. */
function secondsOf({ sinceMs }: EndpointRemoval, atMs: number): number {
  return Math.max(0, atMs - sinceMs) / 1000
}

/** While a sync failed and was tried again, the endpoint may have come back. */
function isBack({ routesByKey }: Viewed, { key, address }: EndpointRemoval): boolean {
  return routesByKey.get(key)?.reachableEndpoints.some((endpoint) => endpoint.address === address) ?? false
}

function countIn(counts: number[], bucket: number): void {
  for (let at = 0; at < counts.length; at += 2)
    if (counts[at] === bucket) {
      counts[at + 1]!++
      return
    }
  counts.push(bucket, 1)
}

function firstOf<Key>(map: ReadonlyMap<Key, unknown>): Key {
  return map.keys().next().value as Key
}
