/** Which sync has last programmed something of a Service, and why it ran. */
import type { Family } from '../../net/ip.ts'
import type { ObjectKey } from '../../api/records.ts'
import type { Clock } from '../clock.ts'
import { serviceOfRoute } from '../route.ts'
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
  /** Of syncs that looked at single Services; the least recent first. */
  readonly #byService = { ipv4: new Map<string, Touch>(), ipv6: new Map<string, Touch>() } satisfies Record<
    Family,
    unknown
  >

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  afterSync(): AfterSync {
    return { name: 'the last sync of each Service', isNote: true, run: (synced) => this.#note(synced) }
  }

  /** One for each family that has programmed anything at all. */
  of(service: ObjectKey): readonly Touch[] {
    return [...this.#lastFull].map(([family, full]) => {
      const own = this.#byService[family].get(service)
      return own !== undefined && own.atMs >= full.atMs ? own : full
    })
  }

  #note({ view: { family }, change: { full, keys, causes } }: PendingSync): void {
    const touch = { family, atMs: this.#clock.now(), full, causes }
    if (full) {
      this.#lastFull.set(family, touch)
      return
    }
    const byService = this.#byService[family]
    for (const key of keys) {
      const service = serviceOfRoute(key)
      byService.delete(service)
      byService.set(service, touch)
      if (byService.size > most) byService.delete(byService.keys().next().value ?? '')
    }
  }
}
