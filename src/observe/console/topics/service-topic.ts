/** `service/NAMESPACE/NAME`: the whole of it, each time something of it has changed. */
import { objectKey } from '../../../api/records.ts'
import type { ObjectKey } from '../../../api/records.ts'
import type { LiveTopic, Viewer } from '../live-topic.ts'
import type { Beat } from './beat.ts'
import type { NodeParts } from './node-parts.ts'
import type { PacedTraffic } from './paced-traffic.ts'
import type { ServiceChanges } from './service-changes.ts'
import { serviceDetail } from './service-detail.ts'
import type { DetailParts } from './service-detail.ts'

export interface ServiceTopicOptions extends DetailParts, Pick<NodeParts, 'clock'> {
  readonly beat: Beat
  readonly changes: ServiceChanges
  readonly traffic: PacedTraffic
}

/** A Service that somebody looks at. */
interface Shown {
  /** With the text that each was sent last. */
  readonly sentTo: Map<Viewer, string | undefined>
  isOld: boolean
  text: string
  /** One with thousands of endpoints is not worked out at every beat. */
  restsUntil: number
}

/** It takes at most one part in so many of the time. */
const restPerLook = 25

export class ServiceTopic implements LiveTopic {
  readonly name = 'service'
  readonly #options: ServiceTopicOptions
  readonly #shownByKey = new Map<ObjectKey, Shown>()
  #endings: readonly (() => void)[] = []
  /** What became of the syncs, as of the last beat. */
  #tallies: readonly unknown[] = []

  constructor(options: ServiceTopicOptions) {
    this.#options = options
  }

  follow([namespace = '', name = '']: readonly string[], viewer: Viewer): Disposable {
    const key = objectKey({ namespace, name })
    if (this.#shownByKey.size === 0) this.#begin()
    const shown = this.#shownByKey.get(key) ?? { sentTo: new Map(), isOld: true, text: '', restsUntil: 0 }
    this.#shownByKey.set(key, shown)
    shown.sentTo.set(viewer, undefined)
    this.#show(key, shown)
    return {
      [Symbol.dispose]: () => {
        shown.sentTo.delete(viewer)
        if (shown.sentTo.size > 0 || this.#shownByKey.get(key) !== shown) return
        this.#shownByKey.delete(key)
        if (this.#shownByKey.size === 0) this.#end()
      },
    }
  }

  #begin(): void {
    const { beat, changes, traffic } = this.#options
    this.#endings = [
      changes.subscribe((service) => {
        const shown = this.#shownByKey.get(service)
        if (shown !== undefined) shown.isOld = true
      }),
      traffic.subscribe(() => this.#markAllOld()),
      beat.subscribe(() => this.#onBeat()),
    ]
  }

  #end(): void {
    for (const end of this.#endings) end()
    this.#endings = []
    this.#tallies = []
  }

  #onBeat(): void {
    // A sync may have failed for one of them, or succeeded at last.
    const tallies = this.#options.families.map((family) => family.syncs())
    if (tallies.some((tally, index) => tally !== this.#tallies[index])) this.#markAllOld()
    this.#tallies = tallies
    for (const [key, shown] of this.#shownByKey) this.#show(key, shown)
  }

  #markAllOld(): void {
    for (const shown of this.#shownByKey.values()) shown.isOld = true
  }

  #show(key: ObjectKey, shown: Shown): void {
    const { clock, traffic } = this.#options
    const now = clock.monotonic()
    if (shown.isOld && (shown.text === '' || now >= shown.restsUntil)) {
      shown.isOld = false
      shown.text = JSON.stringify(serviceDetail(key, this.#options, traffic.last))
      const endedAt = clock.monotonic()
      shown.restsUntil = endedAt + restPerLook * (endedAt - now)
    }
    for (const [viewer, sent] of shown.sentTo) {
      if (sent === shown.text || viewer.isBehind) continue
      shown.sentTo.set(viewer, shown.text)
      viewer.sendText('service', shown.text)
    }
  }
}
