/** Which sync has last programmed something of a Service, and why it ran. */
import type { Family } from '../../net/ip.ts'
import type { ObjectKey } from '../../api/records.ts'
import type { Clock } from '../clock.ts'
import { serviceOfRoute } from '../route.ts'
import type { RouteKey } from '../route.ts'
import type { PendingSync } from './route-source.ts'
import type { AfterSync } from './sync-runner.ts'

export interface Touch {
  readonly family: Family
  /** When it had ended, on the wall clock. */
  readonly atMs: number
  /** Everything was programmed, not only what had changed. */
  readonly full: boolean
  readonly causes: readonly string[]
}

/** Of Services, in each family. */
const most = 10_000

export class LastTouched {
  readonly #clock: Pick<Clock, 'now'>
  readonly #lastFull = new Map<Family, Touch>()
  readonly #logs: Record<Family, TouchLog> = { ipv4: new TouchLog('ipv4'), ipv6: new TouchLog('ipv6') }

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  afterSync(): AfterSync {
    return { name: 'the last sync of each Service', isNote: true, run: (synced) => this.#note(synced) }
  }

  /** One for each family that has programmed anything at all. */
  of(service: ObjectKey): readonly Touch[] {
    return [...this.#lastFull].map(([family, full]) => this.#logs[family].lastOf(service) ?? full)
  }

  #note({ view: { family }, change: { full, keys, causes } }: PendingSync): void {
    const atMs = this.#clock.now()
    if (full) {
      this.#lastFull.set(family, { family, atMs, full, causes })
      this.#logs[family] = new TouchLog(family)
    } else this.#logs[family].add(keys, atMs, causes)
  }
}

/**
 * What syncs since the last full one have touched, the least recent first. It is written in every sync and hardly ever
 * read: to append takes a fraction of what it takes to find a Service among thousands, and what lies in plain lists of
 * numbers and of strings that are there anyway is nothing more for the garbage collector to carry about.
 */
class TouchLog {
  readonly #family: Family
  #keys: RouteKey[] = []
  #atMs: number[] = []
  #causes: (readonly string[])[] = []

  constructor(family: Family) {
    this.#family = family
  }

  add(keys: readonly RouteKey[], atMs: number, causes: readonly string[]): void {
    for (const key of keys) {
      this.#keys.push(key)
      this.#atMs.push(atMs)
      this.#causes.push(causes)
    }
    if (this.#keys.length > 2 * most) this.#forgetOldOnes()
  }

  lastOf(service: ObjectKey): Touch | undefined {
    const at = this.#keys.findLastIndex((key) => serviceOfRoute(key) === service)
    if (at === -1) return undefined
    return { family: this.#family, atMs: this.#atMs[at]!, full: false, causes: this.#causes[at]! }
  }

  #forgetOldOnes(): void {
    const lastByService = new Map<ObjectKey, number>()
    for (let at = this.#keys.length - 1; at >= 0 && lastByService.size < most; at--) {
      const service = serviceOfRoute(this.#keys[at]!)
      if (!lastByService.has(service)) lastByService.set(service, at)
    }
    const kept = [...lastByService.values()].reverse()
    this.#keys = kept.map((at) => this.#keys[at]!)
    this.#atMs = kept.map((at) => this.#atMs[at]!)
    this.#causes = kept.map((at) => this.#causes[at]!)
  }
}
