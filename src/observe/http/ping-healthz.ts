/** `/healthz` of the metrics port only says that the process answers. The real one is on the health server. */
import type { Counter, Gauge } from '../metrics/prometheus.ts'
import { MetricRegistry } from '../metrics/prometheus.ts'
import { noSniff, plainText, reply, requestTarget } from './reply.ts'
import type { HttpHandler } from './reply.ts'

export class PingHealthz {
  /** For `/metrics/slis`. It has its own registry, because a client may reset it. */
  readonly slis = new MetricRegistry()
  readonly #result: Gauge<'name' | 'type'>
  readonly #results: Counter<'name' | 'type' | 'status'>

  constructor({ processStartMs }: { readonly processStartMs: number }) {
    this.#result = this.slis.gauge({
      name: 'kubernetes_healthcheck',
      labels: ['name', 'type'],
      help: '[STABLE] The last result of a health check: 1 is good.',
    })
    this.#results = this.slis.counter({
      name: 'kubernetes_healthchecks_total',
      labels: ['name', 'type', 'status'],
      help: '[STABLE] How often a health check had which result.',
    })
    this.slis.gauge(
      { name: 'process_start_time_seconds', labels: [], help: '[ALPHA] When the process started, in Unix seconds.' },
      (gauge) => gauge.set({}, processStartMs / 1000),
    )
  }

  readonly handler: HttpHandler = (request, response) => {
    const { query } = requestTarget(request)
    const excluded = new Set(query.getAll('exclude'))
    const isExcluded = excluded.delete('ping')
    if (!isExcluded) this.#count()
    const headers = { 'Content-Type': plainText, ...noSniff }
    if (!query.has('verbose')) return reply(response, 200, headers, 'ok')
    const unknown = [...excluded].map((name) => JSON.stringify(name))
    const warning = `warn: some health checks cannot be excluded: no matches for ${unknown.join(',')}\n`
    const ping = isExcluded ? '[+]ping excluded: ok\n' : '[+]ping ok\n'
    reply(response, 200, headers, `${ping}${unknown.length > 0 ? warning : ''}healthz check passed\n`)
  }

  readonly pingHandler: HttpHandler = (_request, response) => {
    reply(response, 200, { 'Content-Type': plainText }, 'ok')
  }

  #count(): void {
    const labels = { name: 'ping', type: 'healthz' }
    this.#result.set(labels, 1)
    this.#results.increment({ ...labels, status: 'success' })
  }
}
