/** Traces of a command that keeps the state of the whole cluster. Without a collector there is nobody to look at them. */
import { noTracer } from '../../core/trace.ts'
import type { SpanContext, Tracer } from '../../core/trace.ts'
import type { Logger } from '../../core/logger.ts'
import type { MetricRegistry } from '../../observe/metrics/prometheus.ts'
import { TraceRecorder } from '../../observe/tracing/trace-recorder.ts'
import type { Host } from '../host/host.ts'
import { exportTraces } from './export-traces.ts'
import { traceTarget } from './trace-target.ts'

export interface CoreTracing extends AsyncDisposable {
  readonly tracer: Tracer
  readonly isSent: (context: SpanContext) => boolean
}

export interface CoreTracingOptions {
  /** The value of `--otlp-endpoint`. */
  readonly endpoint: string
  /** `kube to-api`, … */
  readonly command: string
  readonly registry: MetricRegistry
  readonly host: Host
  readonly log: Logger
}

export async function openCoreTracing(options: CoreTracingOptions): Promise<CoreTracing> {
  const { endpoint, command, registry, host, log } = options
  const target = traceTarget(endpoint, host.env)
  const recorder = new TraceRecorder({ clock: host.clock })
  const resource = { 'fairlead.command': command }
  const exported = await exportTraces({ target, recorder, registry, resource, host, log })
  return {
    tracer: target.settings === undefined ? noTracer : recorder,
    isSent: (context) => exported.sends(context),
    [Symbol.asyncDispose]: () => exported[Symbol.asyncDispose](),
  }
}
