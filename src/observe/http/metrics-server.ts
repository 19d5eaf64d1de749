/** Everything on the metrics port. Paths match exactly: `/metrics/` is not `/metrics`. */
import type { Clock } from '../../core/clock.ts'
import type { MetricRegistry } from '../metrics/prometheus.ts'
import { isFromThisMachine } from '../../http/web-pages.ts'
import { debugPrefix } from './debug/debug-handler.ts'
import { openMetricsContentType } from '../metrics/open-metrics.ts'
import { admits, parseAccept } from './accept-header.ts'
import { debugFlagsIndexHandler, verbosityHandler } from './debug-flags.ts'
import type { PingHealthz } from './ping-healthz.ts'
import { pprofPrefix, profilingHandler, profilingRedirect } from './profiling.ts'
import { noSniff, plainText, reply, replyNotFound, requestTarget } from './reply.ts'
import type { HttpHandler } from './reply.ts'
import { statuszHandler } from './statusz.ts'
import { zPageHandler } from './z-pages.ts'

export interface MetricsServerOptions {
  /** Named in /flagz and /statusz. */
  readonly component: string
  readonly registry: MetricRegistry
  /** The effective proxy mode. */
  readonly mode: string
  /** The configuration by its group, before anything in it was expanded. */
  readonly configz: () => object
  readonly ping: PingHealthz
  /** All flags with their values; absent while the gate ComponentFlagz is off. */
  readonly flags: Readonly<Record<string, string>> | undefined
  /** Absent while the gate ComponentStatusz is off. */
  readonly statusz: { readonly binaryVersion: string; readonly runtimeVersion: string } | undefined
  /** Only if enableProfiling is set. */
  readonly profiling: { setVerbosity(verbosity: number): void } | undefined
  /** Everything else below `/debug/`, for clients on this machine. */
  readonly debug?: HttpHandler
  readonly processStartMs: number
  readonly clock: Clock
}

export function metricsHandler(options: MetricsServerOptions): HttpHandler {
  const handlerByPath = handlers(options)
  const profiling = options.profiling === undefined ? undefined : profilingHandler(options.clock)
  const debug = options.debug === undefined ? undefined : fromThisMachine(options.debug)
  return (request, response) => {
    const { path } = requestTarget(request)
    const rest = path.startsWith(pprofPrefix) ? profiling : isDebugPage(path) ? debug : undefined
    const handler = handlerByPath.get(path) ?? rest
    return handler === undefined ? replyNotFound(response) : handler(request, response)
  }
}

/** The flags belong to `--profiling`: without it they do not exist, whoever asks. */
function isDebugPage(path: string): boolean {
  return path.startsWith(debugPrefix) && !path.startsWith('/debug/flags')
}

function fromThisMachine(handler: HttpHandler): HttpHandler {
  return (request, response) => {
    const { remoteAddress, localPort } = request.socket
    if (isFromThisMachine(remoteAddress, request.headers)) return handler(request, response)
    const wayOut = `ask on the node itself, at http://127.0.0.1:${localPort}${debugPrefix}`
    reply(
      response,
      403,
      { 'Content-Type': plainText, ...noSniff },
      `forbidden: the pages below ${debugPrefix} are for this machine only, ${wayOut}\n`,
    )
  }
}

function handlers(options: MetricsServerOptions): ReadonlyMap<string, HttpHandler> {
  const { clock, component, configz, flags, mode, ping, processStartMs, profiling, registry, statusz } = options
  const handlerByPath = new Map<string, HttpHandler>([
    ['/metrics', exposition(registry, processStartMs)],
    ['/metrics/slis', resettable(ping.slis, exposition(ping.slis, processStartMs))],
    ['/healthz', ping.handler],
    ['/healthz/ping', ping.pingHandler],
    ['/proxyMode', fixed({ 'Content-Type': plainText, ...noSniff }, mode)],
    ['/configz', json(configz)],
  ])
  if (profiling !== undefined) {
    handlerByPath.set('/debug/pprof', profilingRedirect)
    handlerByPath.set('/debug/flags', debugFlagsIndexHandler)
    handlerByPath.set('/debug/flags/', debugFlagsIndexHandler)
    handlerByPath.set(
      '/debug/flags/v',
      verbosityHandler((verbosity) => profiling.setVerbosity(verbosity)),
    )
  }
  if (flags !== undefined) handlerByPath.set('/flagz', flagzHandler(component, flags))
  if (statusz !== undefined) {
    const paths = [...handlerByPath.keys()].filter((path) => listedPaths.has(path)).sort()
    handlerByPath.set('/statusz', statuszHandler({ component, processStartMs, paths, clock, ...statusz }))
  }
  return handlerByPath
}

/** The paths that /statusz lists. */
const listedPaths: ReadonlySet<string> = new Set(['/configz', '/flagz', '/healthz', '/metrics', '/proxyMode'])

function exposition(registry: MetricRegistry, processStartMs: number): HttpHandler {
  // If the start time changes, a scraper knows that counters began again.
  const started = { 'Process-Start-Time-Unix': String(Math.floor(processStartMs / 1000)) }
  return async (request, response) => {
    const isOpen = prefersOpenMetrics(request.headers.accept)
    const headers = { 'Content-Type': isOpen ? openMetricsContentType : registry.contentType, ...started }
    reply(response, 200, headers, await (isOpen ? registry.renderOpenMetrics() : registry.render()))
  }
}

/** By name: who takes anything gets what kube-proxy answers. */
function prefersOpenMetrics(accept: string | undefined): boolean {
  for (const clause of parseAccept(accept)) {
    if (clause.type === 'application' && clause.subtype === 'openmetrics-text') return true
    if (admits(clause, 'text', 'plain')) return false
  }
  return false
}

function resettable(registry: MetricRegistry, show: HttpHandler): HttpHandler {
  return (request, response) => {
    if (request.method !== 'DELETE') return show(request, response)
    registry.reset()
    return reply(response, 200, { 'Content-Type': plainText }, 'metrics reset\n')
  }
}

function fixed(headers: Readonly<Record<string, string>>, body: string): HttpHandler {
  return (_request, response) => reply(response, 200, headers, body)
}

function json(body: () => object): HttpHandler {
  return (_request, response) =>
    reply(response, 200, { 'Content-Type': 'application/json', ...noSniff }, JSON.stringify(body()))
}

function flagzHandler(component: string, flags: Readonly<Record<string, string>>): HttpHandler {
  const sorted = Object.fromEntries(Object.entries(flags).sort(([a], [b]) => (a < b ? -1 : 1)))
  return zPageHandler({
    component,
    kind: 'Flagz',
    text: () =>
      Object.entries(sorted)
        .map(([flag, value]) => `${flag}=${value}\n`)
        .join(''),
    fields: () => ({ flags: sorted }),
  })
}
