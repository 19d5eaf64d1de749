import type { Clock } from '../../core/clock.ts'
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
      { name: 'fairlead_kpng_unsent_bytes', labels: [], help: 'Bytes in memory that clients have not read yet.' },
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

/** The state of the connection to the core that we follow. */
export interface CoreStatus {
  readonly isConnected: boolean
  /** How often it was opened again. */
  readonly reconnects: number
  /** When the last change set was applied (Unix milliseconds). */
  readonly lastContactMs: number | undefined
}

export function addKpngCoreSeries(registry: MetricRegistry, clock: Clock, status: () => CoreStatus): void {
  registry.gauge(
    { name: 'fairlead_kpng_core_connected', labels: [], help: '1 while this process follows its core, otherwise 0.' },
    (gauge) => gauge.set({}, status().isConnected ? 1 : 0),
  )
  registry.counterFrom(
    {
      name: 'fairlead_kpng_core_reconnects_total',
      labels: [],
      help: 'How often the connection to the core was made anew.',
    },
    () => Promise.resolve([{ labels: {}, value: status().reconnects }]),
  )
  // No series before the first contact.
  registry.gaugeFrom(
    {
      name: 'fairlead_kpng_core_last_message_seconds',
      labels: [],
      help: 'Seconds since the last changes of the core were applied.',
    },
    () => {
      const { lastContactMs } = status()
      const series = lastContactMs === undefined ? [] : [{ labels: {}, value: (clock.now() - lastContactMs) / 1000 }]
      return Promise.resolve(series)
    },
  )
}
