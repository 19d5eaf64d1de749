import type { Clock } from '../../core/clock.ts'
import type { Counter, MetricRegistry } from './prometheus.ts'

/** How the watches on the API server are doing. `resource` is the plural name: services, endpointslices, … */
export class SourceMetrics {
  readonly #clock: Clock
  readonly #lists: Counter<'resource'>
  readonly #watches: Counter<'resource'>
  readonly #errors: Counter<'resource'>
  /** Monotonic time of the last word from the server, by resource. */
  readonly #contactByResource = new Map<string, number>()

  constructor(registry: MetricRegistry, clock: Clock) {
    this.#clock = clock
    const labels = ['resource'] as const
    this.#lists = registry.counter({
      name: 'fairlead_reflector_lists_total',
      labels,
      help: 'Complete lists fetched from the API server.',
    })
    this.#watches = registry.counter({
      name: 'fairlead_reflector_watches_total',
      labels,
      help: 'Watches opened on the API server.',
    })
    this.#errors = registry.counter({
      name: 'fairlead_reflector_errors_total',
      labels,
      help: 'Lists and watches that failed and are tried again.',
    })
    registry.gauge(
      {
        name: 'fairlead_source_last_contact_seconds',
        labels,
        help: 'Seconds since the source of the objects was last heard of.',
      },
      (gauge) => {
        for (const [resource, seconds] of this.secondsSinceContact()) gauge.set({ resource }, seconds)
      },
    )
  }

  listed(resource: string): void {
    this.#lists.increment({ resource })
    this.contact(resource)
  }

  watching(resource: string): void {
    this.#watches.increment({ resource })
    this.contact(resource)
  }

  failed(resource: string): void {
    this.#errors.increment({ resource })
  }

  /** An event or a bookmark arrived: the stream is alive. */
  contact(resource: string): void {
    this.#contactByResource.set(resource, this.#clock.monotonic())
  }

  /** For the detail of /healthz?verbose. */
  secondsSinceContact(): ReadonlyMap<string, number> {
    const now = this.#clock.monotonic()
    return new Map([...this.#contactByResource].map(([resource, at]) => [resource, (now - at) / 1000]))
  }
}
