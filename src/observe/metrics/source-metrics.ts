import type { Clock } from '../../core/clock.ts'
import type { Counter, MetricRegistry } from './prometheus.ts'

/** Lists and watches, by kind: Service, EndpointSlice, … */
export class SourceMetrics {
  readonly #lists: Counter<'kind'>
  readonly #watches: Counter<'kind'>
  readonly #errors: Counter<'kind' | 'reason'>

  constructor(registry: MetricRegistry) {
    this.#lists = registry.counter({
      name: 'fairlead_reflector_lists_total',
      labels: ['kind'],
      help: 'Complete lists received from the API server.',
    })
    this.#watches = registry.counter({
      name: 'fairlead_reflector_watches_total',
      labels: ['kind'],
      help: 'Watches opened on the API server.',
    })
    this.#errors = registry.counter({
      name: 'fairlead_reflector_errors_total',
      labels: ['kind', 'reason'],
      help: 'Lists and watches that failed.',
    })
  }

  listed(kind: string): void {
    this.#lists.increment({ kind })
  }

  watchStarted(kind: string): void {
    this.#watches.increment({ kind })
  }

  failed(kind: string, reason: string): void {
    this.#errors.increment({ kind, reason })
  }
}

/** No series before the first contact. */
export function addSourceContact(
  registry: MetricRegistry,
  clock: Clock,
  status: () => ReadonlyMap<string, { readonly lastContactMs: number | undefined }>,
): void {
  registry.gauge(
    {
      name: 'fairlead_source_last_contact_seconds',
      labels: ['kind'],
      help: 'Seconds since the source of the objects last sent something.',
    },
    (gauge) => {
      for (const [kind, { lastContactMs }] of status())
        if (lastContactMs !== undefined) gauge.set({ kind }, (clock.now() - lastContactMs) / 1000)
    },
  )
}
