/** `/metrics` and `/healthz` of a KPNG command, on one address. */
import type { Clock } from '../../core/clock.ts'
import { splitHostPort } from '../../config/host-port.ts'
import type { Logger } from '../../core/logger.ts'
import { serveHttp } from '../../observe/http/http-server.ts'
import { plainText, reply, replyNotFound, requestTarget } from '../../observe/http/reply.ts'
import type { MetricRegistry } from '../../observe/metrics/prometheus.ts'
import { CommandError } from '../program.ts'
import type { Runnable } from '../run-all.ts'

export interface MetricsEndpoint {
  readonly address: string
  readonly registry: MetricRegistry
  /** Why the state is not complete or not in force: the answer of /healthz is then 503. */
  readonly problem: () => string | undefined
  readonly clock: Clock
  readonly log: Logger
}

/** None without an address. */
export function metricsServers(endpoint: MetricsEndpoint): readonly Runnable[] {
  return endpoint.address === '' ? [] : [metricsServer(endpoint)]
}

function metricsServer({ address, registry, problem, clock, log }: MetricsEndpoint): Runnable {
  const { host = '', port = '' } = splitHostPort(address) ?? {}
  if (!/^\d+$/.test(port)) throw new CommandError(`--exportMetrics=${address} is not IP:PORT, such as 127.0.0.1:9099`)
  const bind = { ip: host === '' ? '0.0.0.0' : host, port: Number(port) }
  return {
    run: (signal) =>
      serveHttp(
        {
          what: 'the metrics server',
          bind,
          clock,
          log,
          isHardFail: true,
          async handler(request, response) {
            const { path } = requestTarget(request)
            if (path === '/metrics')
              return reply(response, 200, { 'Content-Type': registry.contentType }, await registry.render())
            if (path !== '/healthz') return replyNotFound(response)
            const wrong = problem()
            return wrong === undefined
              ? reply(response, 200, { 'Content-Type': plainText }, 'ok\n')
              : reply(response, 503, { 'Content-Type': plainText }, `${wrong}\n`)
          },
        },
        signal,
      ),
  }
}
