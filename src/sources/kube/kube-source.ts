import type { ObjectKind } from '../../api/records.ts'
import type { Clock } from '../../core/clock.ts'
import type { Logger } from '../../core/logger.ts'
import type { KindSink } from '../kind-sink.ts'
import type { KubeClient } from './kube-client.ts'
import { Reflector } from './reflector/reflector.ts'
import type { ReflectorMetrics, ReflectorStatus } from './reflector/reflector-journal.ts'
import { resourceQueries, type ResourceQuery } from './reflector/resource-query.ts'

export interface KubeSourceOptions {
  readonly client: KubeClient
  /** Only the Node object of this name is watched. */
  readonly nodeName: string
  /** By default the objects that concern this node. */
  readonly queries?: Readonly<Record<ObjectKind, ResourceQuery>>
  /** Kinds without one are not asked for. */
  readonly sinks: Readonly<Partial<Record<ObjectKind, KindSink>>>
  readonly clock?: Clock
  readonly random?: () => number
  readonly log?: Logger
  readonly metrics?: ReflectorMetrics
  readonly usesStreamingLists?: boolean
  readonly longestPauseMs?: number
  /** Until then Services and EndpointSlices, of which there may be very many, are asked for but not read. */
  readonly mayReadLarge?: Promise<unknown>
}

const largeKinds: ReadonlySet<ObjectKind> = new Set(['Service', 'EndpointSlice'])

/** Delivers the objects of a cluster to their sinks. */
export class KubeSource {
  readonly #reflectorsByKind: ReadonlyMap<ObjectKind, Reflector<unknown>>

  constructor({ nodeName, queries = resourceQueries(nodeName), sinks, mayReadLarge, ...shared }: KubeSourceOptions) {
    this.#reflectorsByKind = new Map(
      (Object.entries(sinks) as [ObjectKind, KindSink][]).map(([kind, sink]) => [
        kind,
        new Reflector({
          ...shared,
          query: queries[kind],
          sink,
          ...(mayReadLarge !== undefined && largeKinds.has(kind) && { mayRead: mayReadLarge }),
        }),
      ]),
    )
  }

  status(): ReadonlyMap<ObjectKind, ReflectorStatus> {
    return new Map([...this.#reflectorsByKind].map(([kind, reflector]) => [kind, reflector.status()]))
  }

  /** Resolves when aborted. If one kind fails for good (a bug), the others are stopped and it rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const stop = new AbortController()
    const onAbort = () => stop.abort(signal.reason)
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      const runs = [...this.#reflectorsByKind.values()].map((reflector) => reflector.run(stop.signal))
      await Promise.all(runs).catch(async (error: unknown) => {
        stop.abort(error)
        await Promise.allSettled(runs)
        throw error
      })
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }
}
