/**
 * `/healthz` and `/livez`, byte for byte as kube-proxy answers them, because cloud load balancers and kubelets depend
 * on it. Only `/healthz?verbose` says more, under one additional key. kube-proxy has no `/readyz`.
 */
import type { HealthAnswer } from '../../core/health/proxy-health.ts'
import type { Readiness } from '../../core/health/readiness.ts'
import { isFromThisMachine } from '../../http/web-pages.ts'
import { noSniff, plainText, reply, replyNotFound, requestTarget } from './reply.ts'
import type { HttpHandler } from './reply.ts'

export interface HealthzOptions {
  readonly health: { healthz(): HealthAnswer; livez(): HealthAnswer }
  readonly readiness: Pick<Readiness, 'readyz'>
  /**
   * For `?verbose` from this machine: last contact of the sources, last sync, failed routes, and whatever else explains
   * the state.
   */
  readonly detail: () => Readonly<Record<string, unknown>>
  readonly metrics: { healthAnswered(endpoint: 'healthz' | 'livez', status: 200 | 503): void }
}

export function healthzHandler({ health, readiness, detail, metrics }: HealthzOptions): HttpHandler {
  return (request, response) => {
    const { path, query } = requestTarget(request)
    if (path === '/readyz') {
      const { status, body } = readiness.readyz({ isVerbose: query.has('verbose') })
      return reply(response, status, { 'Content-Type': plainText, ...noSniff }, body)
    }
    if (path !== '/healthz' && path !== '/livez') return replyNotFound(response)
    const endpoint = path === '/healthz' ? 'healthz' : 'livez'
    const { status, body } = health[endpoint]()
    metrics.healthAnswered(endpoint, status)
    const isVerbose =
      endpoint === 'healthz' && query.has('verbose') && isFromThisMachine(request.socket.remoteAddress, request.headers)
    const headers = { 'Content-Type': 'application/json', ...noSniff }
    reply(response, status, headers, JSON.stringify(isVerbose ? { ...body, detail: detail() } : body))
  }
}
