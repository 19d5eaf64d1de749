/** `overview`: how this node is, as a whole, each time something of it has changed. */
import type { ObjectKey } from '../../../api/records.ts'
import type { LiveTopic, Viewer } from '../live-topic.ts'
import type { FamilySyncs, Overview } from '../wire.ts'
import { beatMs } from './beat.ts'
import type { Beat } from './beat.ts'
import type { NodeParts, ShownFamily } from './node-parts.ts'
import { overviewProblems } from './overview-problems.ts'
import type { ServiceChanges } from './service-changes.ts'
import { ServiceCounts } from './service-counts.ts'

/** Every second beat. */
const lookEveryBeats = 2
/** Also when nothing has changed: a rate that went to zero is news. */
const longestSilenceMs = 2_000

export interface OverviewTopicOptions extends Omit<NodeParts, 'book' | 'history' | 'world'> {
  readonly beat: Beat
  readonly changes: ServiceChanges
}

/** While somebody looks. */
interface Watch {
  readonly counts: ServiceCounts
  readonly ended: AbortController
  readonly endings: readonly (() => void)[]
  isCounted: boolean
  beats: number
  /** What was shown last: its text without the time, and when that was. */
  essence: string
  text: string | undefined
  atMs: number
}

export class OverviewTopic implements LiveTopic {
  readonly name = 'overview'
  readonly #options: OverviewTopicOptions
  /** With the text that each was sent last. */
  readonly #sentTo = new Map<Viewer, string | undefined>()
  #watch: Watch | undefined

  constructor(options: OverviewTopicOptions) {
    this.#options = options
  }

  follow(_rest: readonly string[], viewer: Viewer): Disposable {
    this.#sentTo.set(viewer, undefined)
    if (this.#watch === undefined) this.#begin()
    else this.#send()
    return {
      [Symbol.dispose]: () => {
        if (!this.#sentTo.delete(viewer) || this.#sentTo.size > 0) return
        this.#watch?.ended.abort()
        for (const end of this.#watch?.endings ?? []) end()
        this.#watch = undefined
      },
    }
  }

  #begin(): void {
    const { beat, changes, log } = this.#options
    const changed = new Set<ObjectKey>()
    const counts = new ServiceCounts(this.#options)
    const ended = new AbortController()
    const watch: Watch = {
      counts,
      ended,
      endings: [
        changes.subscribe((service) => changed.add(service)),
        beat.subscribe(() => {
          for (const service of changed) counts.count(service)
          changed.clear()
          if (++watch.beats % lookEveryBeats === 0) this.#look(watch)
          this.#send()
        }),
      ],
      isCounted: false,
      beats: 0,
      essence: '',
      text: undefined,
      atMs: -Infinity,
    }
    this.#watch = watch
    counts.countAll(ended.signal).then(
      () => {
        watch.isCounted = true
        if (this.#watch !== watch) return
        this.#look(watch)
        this.#send()
      },
      (error: unknown) => log.error('the console cannot count the Services', { error }),
    )
  }

  #look(watch: Watch): void {
    if (!watch.isCounted) return
    const atMs = this.#options.clock.monotonic()
    const { at, ...rest } = this.#overview(watch.counts)
    const essence = JSON.stringify(rest)
    if (essence === watch.essence && atMs - watch.atMs < longestSilenceMs - beatMs) return
    watch.essence = essence
    watch.atMs = atMs
    watch.text = `{"at":${JSON.stringify(at)},${essence.slice(1)}`
  }

  #send(): void {
    const text = this.#watch?.text
    if (text === undefined) return
    for (const [viewer, sent] of this.#sentTo) {
      if (sent === text || viewer.isBehind) continue
      this.#sentTo.set(viewer, text)
      viewer.sendText('overview', text)
    }
  }

  #overview(counts: ServiceCounts): Overview {
    const { catalog, families, clock, isHealthy, isReady } = this.#options
    const source = this.#options.source()
    return {
      at: new Date(clock.now()).toISOString(),
      source,
      isHealthy: isHealthy(),
      isReady: isReady(),
      counts: {
        ...counts.counts,
        routes: families.reduce((sum, family) => sum + family.view().routesByKey.size, 0),
      },
      events: catalog.changes,
      syncs: families.map(familySyncs),
      problems: overviewProblems(this.#options, source),
    }
  }
}

function familySyncs(shown: ShownFamily): FamilySyncs {
  const { count = 0, failures = 0, last } = shown.syncs() ?? {}
  return {
    family: shown.family,
    count,
    failures,
    ...(last && { lastAt: new Date(last.atMs).toISOString(), lastMs: Math.round(last.durationMs * 1000) / 1000 }),
    pending: shown.pendingRoutes(),
  }
}
