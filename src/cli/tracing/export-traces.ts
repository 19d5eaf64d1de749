/** Sends what a recorder records to a collector, until disposed. */
import type { Logger } from '../../core/logger.ts'
import type { SpanContext } from '../../core/trace.ts'
import type { MetricRegistry } from '../../observe/metrics/prometheus.ts'
import { SpanSeries } from '../../observe/metrics/span-metrics.ts'
import { openTraceExport } from '../../observe/tracing/otlp/open-trace-export.ts'
import type { TraceTarget } from '../../observe/tracing/otlp/otlp-settings.ts'
import { TraceSettingError } from '../../observe/tracing/otlp/otel-variables.ts'
import type { TraceRecorder } from '../../observe/tracing/trace-recorder.ts'
import type { Host } from '../host/host.ts'
import { CommandError, fairleadVersion } from '../program.ts'

export interface ExportTracesOptions {
  /** Without settings nothing is sent, and nothing of OpenTelemetry is loaded. */
  readonly target: TraceTarget
  readonly recorder: Pick<TraceRecorder, 'addSink'>
  readonly registry: MetricRegistry
  /** `proxy.mode`, … */
  readonly resource: Readonly<Record<string, string>>
  readonly host: Pick<Host, 'clock' | 'hostname' | 'process' | 'readTextFile' | 'findFile'>
  readonly log: Logger
}

/** Whoever has been told that we end waits for that; what hangs after this long is left. */
const endWithinMs = 500

export interface ExportedTraces extends AsyncDisposable {
  /** Whether a trace that begins here is sent. */
  sends(context: SpanContext): boolean
}

export async function exportTraces(options: ExportTracesOptions): Promise<ExportedTraces> {
  const { target, recorder, registry, resource, host, log } = options
  const { settings, off } = target
  if (off !== undefined) log.info('no traces are sent', { reason: off })
  if (settings === undefined) return { sends: () => false, [Symbol.asyncDispose]: () => Promise.resolve() }
  const traces = await openTraceExport({
    settings,
    version: fairleadVersion(),
    resource: { 'host.name': host.hostname(), ...resource },
    readTextFile: (path) => host.readTextFile(host.findFile(path)),
    metrics: new SpanSeries(registry),
    clock: host.clock,
    log: log.child({ part: 'tracing' }),
  }).catch((error: unknown) => {
    throw error instanceof TraceSettingError ? new CommandError(error.message, { cause: error }) : error
  })
  log.info('sending traces', { endpoint: settings.url.replace(/\?.*$/, ''), protocol: settings.protocol })
  const stop = recorder.addSink(traces)
  return {
    sends: (context) => traces.sends(context),
    async [Symbol.asyncDispose]() {
      stop()
      await traces[Symbol.asyncDispose]()
      // A request that is to be tried again later cannot be called off, and would keep the process for seconds.
      if (traces.isAbandoned) host.process.endWithin(endWithinMs)
    },
  }
}
