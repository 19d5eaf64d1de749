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
  readonly #logs: Record<Family, TouchLog> = { ipv4: new TouchLog(), ipv6: new TouchLog() }

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
    const touch = { family, atMs: this.#clock.now(), full, causes }
    if (full) {
      this.#lastFull.set(family, touch)
      this.#logs[family] = new TouchLog()
    } else this.#logs[family].add(keys, touch)
  }
}

/**
 * What syncs since the last full one have touched, the least recent first. It is written in every sync and hardly ever
 * read: to append takes a fraction of what it takes to find a Service among thousands.
 */
class TouchLog {
  #keys: RouteKey[] = []
  #touches: Touch[] = []

  add(keys: readonly RouteKey[], touch: Touch): void {
    for (const key of keys) {
      this.#keys.push(key)
      this.#touches.push(touch)
    }
    if (this.#keys.length > 2 * most) this.#forgetOldOnes()
  }

  lastOf(service: ObjectKey): Touch | undefined {
    return this.#touches[this.#keys.findLastIndex((key) => serviceOfRoute(key) === service)]
  }

  #forgetOldOnes(): void {
    const lastByService = new Map<ObjectKey, number>()
    for (let at = this.#keys.length - 1; at >= 0 && lastByService.size < most; at--) {
      const service = serviceOfRoute(this.#keys[at]!)
      if (!lastByService.has(service)) lastByService.set(service, at)
    }
    const kept = [...lastByService.values()].reverse()
    this.#keys = kept.map((at) => this.#keys[at]!)
    this.#touches = kept.map((at) => this.#touches[at]!)
  }
}
