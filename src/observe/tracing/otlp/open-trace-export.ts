/**
 * Loads the official OpenTelemetry packages and puts them together. Nothing else does: a process that sends no traces
 * never loads one of them.
 */
import type { SpanExporter } from '@opentelemetry/sdk-trace'
import type { SpanRecord } from '../../../core/trace.ts'
import type { OtlpSettings } from './otlp-settings.ts'
import type { TraceExport, TraceExportOptions } from './trace-export.ts'
import { TraceSettingError } from './otel-variables.ts'
import type { TraceSampling } from './trace-sampling.ts'

export interface OpenTraceExportOptions extends Pick<TraceExportOptions, 'metrics' | 'clock' | 'log'> {
  readonly settings: OtlpSettings
  /** Of Fairlead. */
  readonly version: string
  /** What this process is: `k8s.node.name`, … The operator's own attributes win. */
  readonly resource: Readonly<Record<string, string>>
  readonly readTextFile: (path: string) => Promise<string>
}

/** Rejects with a TraceSettingError when a file that a variable names cannot be read. */
export async function openTraceExport(options: OpenTraceExportOptions): Promise<TraceExport> {
  const { settings, version, metrics, clock, log } = options
  const tls = await readTls(settings, options.readTextFile)
  const [{ BatchSpanProcessor, TraceIdRatioBasedSampler, SamplingDecision }, { resourceFromAttributes }, api, own] =
    await Promise.all([
      import('@opentelemetry/sdk-trace'),
      import('@opentelemetry/resources'),
      import('@opentelemetry/api'),
      import('./trace-export.ts'),
    ])
  const sampler = new TraceIdRatioBasedSampler(settings.sampling.ratio)
  const byId = (traceId: string) =>
    sampler.shouldSample(api.ROOT_CONTEXT, traceId).decision === SamplingDecision.RECORD_AND_SAMPLED
  const { maxQueueSize, maxExportBatchSize, scheduledDelayMs, exportTimeoutMs } = settings.batch
  const limits = { scheduledDelayMillis: scheduledDelayMs, exportTimeoutMillis: exportTimeoutMs }
  return new own.TraceExport({
    processor: (exporter) => new BatchSpanProcessor({ exporter, maxQueueSize, maxExportBatchSize, ...limits }),
    exporter: await exporterFor(settings, tls, `fairlead/${version}`),
    origin: {
      resource: resourceFromAttributes({
        'service.name': 'fairlead',
        'service.version': version,
        ...options.resource,
        ...settings.resource,
      }),
      version,
    },
    isSampled: (root) => isSampled(root, settings.sampling, byId),
    maxQueueSize,
    endpoint: settings.url.replace(/\?.*$/, ''),
    metrics,
    clock,
    log,
  })
}

/** Whoever begins a trace decides for those who go on with it; they are told of it only if it is sent. */
function isSampled(
  { context, parentSpanId }: Pick<SpanRecord, 'context' | 'parentSpanId'>,
  { followsParent }: TraceSampling,
  byId: (traceId: string) => boolean,
): boolean {
  return (followsParent && parentSpanId !== undefined) || byId(context.traceId)
}

interface Tls {
  readonly ca: string | undefined
  readonly cert: string | undefined
  readonly key: string | undefined
}

async function readTls({ tls }: OtlpSettings, readTextFile: OpenTraceExportOptions['readTextFile']): Promise<Tls> {
  const read = async (variable: string, path: string | undefined) => {
    try {
      return path === undefined ? undefined : await readTextFile(path)
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      throw new TraceSettingError(`OTEL_EXPORTER_OTLP_${variable}=${path} cannot be read: ${reason}`, { cause: error })
    }
  }
  return {
    ca: await read('CERTIFICATE', tls.ca),
    cert: await read('CLIENT_CERTIFICATE', tls.certificate),
    key: await read('CLIENT_KEY', tls.key),
  }
}

async function exporterFor(settings: OtlpSettings, tls: Tls, userAgent: string): Promise<SpanExporter> {
  const { url, headers, timeoutMs: timeoutMillis } = settings
  if (settings.protocol === 'grpc') {
    const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-grpc')
    const { credentials, Metadata } = await import('@grpc/grpc-js')
    const metadata = new Metadata()
    for (const [name, value] of Object.entries(headers)) metadata.set(name, value)
    const pem = (text: string | undefined) => (text === undefined ? null : Buffer.from(text))
    return new OTLPTraceExporter({
      url,
      metadata,
      timeoutMillis,
      userAgent,
      compression: settings.compression as never, // an enum of a package that is not ours
      credentials: url.startsWith('https:')
        ? credentials.createSsl(pem(tls.ca), pem(tls.key), pem(tls.cert))
        : credentials.createInsecure(),
    })
  }
  const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-proto')
  return new OTLPTraceExporter({
    url,
    headers: { ...headers },
    timeoutMillis,
    userAgent,
    compression: settings.compression as never,
    httpAgentOptions: { keepAlive: true, ...withoutUndefined(tls) },
  })
}

function withoutUndefined(tls: Tls): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(tls).filter((pair): pair is [string, string] => pair[1] !== undefined))
}
