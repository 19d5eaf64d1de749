import type { Counter, Histogram, MetricRegistry } from './prometheus.ts'

export interface FinishedRequest {
  readonly method: string
  /** `host:port` of the API server. */
  readonly host: string
  /** Absent if no answer came. */
  readonly status: number | undefined
  /** Until the headers of the answer arrived; otherwise a watch would count for as long as it lasts. */
  readonly seconds: number
}

/** Requests to the API server, with the names that Kubernetes' Go client uses. */
export class RestClientMetrics {
  readonly #requests: Counter<'code' | 'method' | 'host'>
  readonly #durations: Histogram<'verb' | 'host'>

  constructor(registry: MetricRegistry) {
    this.#requests = registry.counter({
      name: 'rest_client_requests_total',
      labels: ['code', 'method', 'host'],
      help: '[ALPHA] Requests to the API server by status, method and host.',
    })
    this.#durations = registry.histogram(
      {
        name: 'rest_client_request_duration_seconds',
        labels: ['verb', 'host'],
        help: '[ALPHA] How long the API server took to answer, in seconds, by verb and host.',
      },
      [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60],
    )
  }

  requestFinished({ method, host, status, seconds }: FinishedRequest): void {
    this.#requests.increment({ code: status === undefined ? '<error>' : String(status), method, host })
    this.#durations.observe({ verb: method, host }, seconds)
  }
}
