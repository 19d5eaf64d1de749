import type { Counter, Gauge, MetricRegistry } from './prometheus.ts'

type Api = 'local' | 'global'

/** What a KPNG server does for its clients. */
export class KpngServerSeries {
  readonly #clients: Gauge<'api'>
  readonly #operations: Counter<'api'>
  readonly #refused: Counter<'reason'>
  #readUnsentBytes = () => 0

  constructor(registry: MetricRegistry) {
    this.#clients = registry.gauge({
      name: 'fairlead_kpng_clients',
      labels: ['api'],
      help: 'Clients that watch, by API.',
    })
    this.#operations = registry.counter({
      name: 'fairlead_kpng_operations_sent_total',
      labels: ['api'],
      help: 'Operations sent to clients, Reset and Sync included.',
    })
    this.#refused = registry.counter({
      name: 'fairlead_kpng_clients_refused_total',
      labels: ['reason'],
      help: 'Clients that were turned away.',
    })
    registry.gauge(
      { name: 'fairlead_kpng_unsent_bytes', labels: [], help: 'What waits in memory until clients read on.' },
      (gauge) => gauge.set({}, this.#readUnsentBytes()),
    )
  }

  unsentBytesFrom(read: () => number): void {
    this.#readUnsentBytes = read
  }

  clients(api: Api, count: number): void {
    this.#clients.set({ api }, count)
  }

  sent(api: Api, operations: number): void {
    this.#operations.increment({ api }, operations)
  }

  refused(reason: string): void {
    this.#refused.increment({ reason })
  }
}
