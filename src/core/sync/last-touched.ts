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

/** Of Services. */
const most = 10_000

export class LastTouched {
  readonly #clock: Pick<Clock, 'now'>
  readonly #lastFull = new Map<Family, Touch>()
  /** Of syncs that looked at single Services; the least recent first. */
  readonly #byService = new Map<string, Touch>()

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  afterSync(): AfterSync {
    return { name: 'the last sync of each Service', isNote: true, run: (synced) => this.#note(synced) }
  }

  /** One for each family that has programmed anything at all. */
  of(service: ObjectKey): readonly Touch[] {
    return [...this.#lastFull].map(([family, full]) => {
      const own = this.#byService.get(`${family} ${service}`)
      return own !== undefined && own.atMs >= full.atMs ? own : full
    })
  }

  #note({ view: { family }, change: { full, keys, causes } }: PendingSync): void {
    const touch = { family, atMs: this.#clock.now(), full, causes }
    if (full) {
      this.#lastFull.set(family, touch)
      return
    }
    for (const key of keys) {
      const place = `${family} ${serviceOfRoute(key)}`
      this.#byService.delete(place)
      this.#byService.set(place, touch)
      if (this.#byService.size > most) this.#byService.delete(this.#byService.keys().next().value ?? '')
    }
  }
}
