/** A metrics server on its own port, which is closed with the test. */
import { onTestFinished } from 'vitest'
import { silentLogger } from '../../../core/logger.ts'
import { FakeClock } from '../../../core/testing/fake-clock.ts'
import { MetricRegistry } from '../../metrics/prometheus.ts'
import { listenHttp } from '../http-server.ts'
import { metricsHandler } from '../metrics-server.ts'
import type { MetricsServerOptions } from '../metrics-server.ts'
import { PingHealthz } from '../ping-healthz.ts'
import { rawRequest } from './raw-request.ts'
import type { RawRequest } from './raw-request.ts'

/** Unix second 1794752395. */
const startMs = Date.UTC(2026, 10, 15, 14, 19, 55, 400)

export async function serveMetrics(options: Partial<MetricsServerOptions>, ip = '127.0.0.1') {
  const clock = new FakeClock(startMs)
  const handler = metricsHandler({
    component: 'kube-proxy',
    registry: new MetricRegistry(),
    mode: 'userspace',
    configz: () => ({}),
    ping: new PingHealthz({ processStartMs: startMs }),
    flags: undefined,
    statusz: undefined,
    profiling: undefined,
    processStartMs: startMs,
    clock,
    ...options,
  })
  const bind = { ip, port: 0 }
  const listener = await listenHttp({ what: 'test', bind, handler, log: silentLogger })
  onTestFinished(() => listener[Symbol.asyncDispose]())
  const { address } = listener
  return { address, clock, get: (path: string, request?: RawRequest) => rawRequest(address, path, request) }
}
