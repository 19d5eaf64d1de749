/** The health server and the metrics server, as the configuration wants them. */
import { isGateOn } from '../../config/feature-gates.ts'
import { splitHostPort } from '../../config/host-port.ts'
import type { StartConfig } from '../../config/live/how-fields-change.ts'
import type { RunningConfig } from '../../config/live/running-config.ts'
import type { ProxyConfig } from '../../config/proxy-config.ts'
import type { ProxyHealth } from '../../core/health/proxy-health.ts'
import type { Readiness } from '../../core/health/readiness.ts'
import { ConnectionLimit } from '../../http/connection-limit.ts'
import { healthzHandler } from '../../observe/http/healthz-server.ts'
import { serveHttp } from '../../observe/http/http-server.ts'
import type { BindAddress } from '../../observe/http/http-server.ts'
import { debugHandler, limitsOnPort } from '../../observe/http/debug/debug-handler.ts'
import type { DebugPage } from '../../observe/http/debug/debug-page.ts'
import { metricsHandler } from '../../observe/http/metrics-server.ts'
import type { MetricsServerOptions } from '../../observe/http/metrics-server.ts'
import { PingHealthz } from '../../observe/http/ping-healthz.ts'
import type { HttpHandler } from '../../observe/http/reply.ts'
import { writeSnapshotsOnSignal } from '../../observe/profiling/heap-snapshots.ts'
import type { RootLogger } from '../../observe/logging/create-logger.ts'
import type { KeptSockets } from '../../net/kept-sockets.ts'
import type { Host } from '../host/host.ts'
import type { Runnable } from '../run-all.ts'
import type { BindFailure } from './daemon-events.ts'
import type { DaemonMetrics } from './daemon-metrics.ts'

export interface DaemonServersOptions {
  readonly config: StartConfig
  readonly running: RunningConfig
  /** What `/configz` shows. */
  readonly configz: () => object
  readonly version: string
  readonly flags: Readonly<Record<string, string>>
  readonly health: ProxyHealth
  readonly readiness: Readiness
  readonly detail: () => Readonly<Record<string, unknown>>
  readonly metrics: DaemonMetrics
  readonly pages: readonly DebugPage[]
  /** At each server. */
  readonly maxConnections: number
  readonly sockets: KeptSockets
  readonly host: Host
  readonly log: RootLogger
  /** Called before the error ends the process, which it does only with bindAddressHardFail. */
  readonly onBindFailure: (reason: BindFailure, error: Error) => void
}

export function daemonServers(options: DaemonServersOptions): readonly Runnable[] {
  const { config } = options
  const servers = [
    server(
      options,
      'the metrics server',
      config.metricsBindAddress,
      metricsPages(options),
      'FailedToStartMetricServer',
    ),
  ]
  if (config.healthzBindAddress !== '')
    servers.unshift(
      server(
        options,
        'the health server',
        config.healthzBindAddress,
        healthzHandler({ ...options, metrics: options.metrics.proxy }),
        'FailedToStartProxierHealthcheck',
      ),
    )
  return [...servers, heapSnapshots(options)]
}

function heapSnapshots({ running, log }: DaemonServersOptions): Runnable {
  const isAllowed = () => running.config.enableProfiling
  return { run: (signal) => writeSnapshotsOnSignal({ isAllowed, log }, signal) }
}

function server(
  { config, host: { clock }, log, maxConnections, sockets, onBindFailure }: DaemonServersOptions,
  what: string,
  address: string,
  handler: HttpHandler,
  failure: BindFailure,
): Runnable {
  const isHardFail = config.bindAddressHardFail
  return {
    async run(signal) {
      try {
        const connections = new ConnectionLimit(maxConnections)
        const bind = parseBind(address)
        await serveHttp({ what, bind, handler, connections, sockets, log, clock, isHardFail }, signal)
      } catch (error) {
        if (error instanceof Error) onBindFailure(failure, error)
        throw error
      }
    },
  }
}

/** Which pages there are follows the configuration. */
function metricsPages(options: DaemonServersOptions): HttpHandler {
  const { running, host } = options
  const { clock } = host
  const processStartMs = clock.now() - host.process.uptimeMs()
  const fixed = { ping: new PingHealthz({ processStartMs }), processStartMs }
  let { config } = running
  let handler = pagesWith(config, fixed, options)
  return (request, response) => {
    if (config !== running.config) {
      config = running.config
      handler = pagesWith(config, fixed, options)
    }
    return handler(request, response)
  }
}

function pagesWith(
  config: ProxyConfig,
  fixed: Pick<MetricsServerOptions, 'ping' | 'processStartMs'>,
  { configz, version, flags, metrics, pages, host, log }: DaemonServersOptions,
): HttpHandler {
  const { clock } = host
  const isOn = (gate: Parameters<typeof isGateOn>[1]) => isGateOn(config.featureGates, gate)
  return metricsHandler({
    component: 'kube-proxy',
    registry: metrics.registry,
    mode: config.mode,
    configz,
    flags: isOn('ComponentFlagz') ? flags : undefined,
    statusz: isOn('ComponentStatusz')
      ? { binaryVersion: version, runtimeVersion: host.process.nodeVersion }
      : undefined,
    profiling: config.enableProfiling ? log : undefined,
    debug: debugHandler({ pages, limits: limitsOnPort, clock, log }),
    ...fixed,
    clock,
  })
}

/** The address is well-formed: validation has checked it. */
function parseBind(address: string): BindAddress {
  const { host = '', port = '' } = splitHostPort(address) ?? {}
  return { ip: host, port: Number(port) }
}
