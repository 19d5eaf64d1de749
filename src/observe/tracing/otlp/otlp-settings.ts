/**
 * Where traces go, from the flag and OpenTelemetry's own variables. Whatever is wrong with them is found at the start and
 * said in one sentence: the OpenTelemetry packages themselves would only ignore it.
 */
import { parseCollectorEndpoint } from './collector-endpoint.ts'
import type { CollectorEndpoint, OtlpProtocol } from './collector-endpoint.ts'
import { listOfPairs, OtelVariables, refuse, TraceSettingError } from './otel-variables.ts'
import { readSampling } from './trace-sampling.ts'
import type { TraceSampling } from './trace-sampling.ts'

export interface OtlpSettings extends CollectorEndpoint {
  /** Sent with each request: tokens, mostly. */
  readonly headers: Readonly<Record<string, string>>
  /** One attempt to send, with everything that is tried again. */
  readonly timeoutMs: number
  readonly compression: 'none' | 'gzip'
  /** Files with PEM. */
  readonly tls: { readonly ca?: string; readonly certificate?: string; readonly key?: string }
  readonly sampling: TraceSampling
  readonly batch: BatchSettings
  /** What the operator says about this process; wins over what we know. */
  readonly resource: Readonly<Record<string, string>>
}

interface BatchSettings {
  readonly maxQueueSize: number
  readonly maxExportBatchSize: number
  readonly scheduledDelayMs: number
  readonly exportTimeoutMs: number
}

/** Where traces go. Without settings nowhere: nobody asked for it, or a variable turns it off. */
export interface TraceTarget {
  readonly settings: OtlpSettings | undefined
  /** The variable that turns it off. */
  readonly off?: string
}

export type TraceTargetRead =
  { readonly ok: true; readonly target: TraceTarget } | { readonly ok: false; readonly problem: string }

const endpointFlag = '--otlp-endpoint'

export function readTraceTarget(flag: string, env: NodeJS.ProcessEnv): TraceTargetRead {
  const variables = new OtelVariables(env)
  try {
    const off = turnedOff(variables)
    if (off !== undefined) return { ok: true, target: { settings: undefined, off } }
    const asked = askedFor(flag, variables)
    return { ok: true, target: { settings: asked && settingsFor(asked, variables) } }
  } catch (error) {
    if (error instanceof TraceSettingError) return { ok: false, problem: error.message }
    throw error
  }
}

function turnedOff(variables: OtelVariables): string | undefined {
  if (variables.bool('OTEL_SDK_DISABLED')) return 'OTEL_SDK_DISABLED=true'
  const exporters = variables.get('OTEL_TRACES_EXPORTER')
  return exporters?.value === 'none' ? 'OTEL_TRACES_EXPORTER=none' : undefined
}

interface Asked {
  readonly name: string
  readonly value: string
  /** `/v1/traces` follows, unless the address is complete as it is. */
  readonly isBase: boolean
}

/** The flag, then the variable for traces, then the one for everything. */
function askedFor(flag: string, variables: OtelVariables): Asked | undefined {
  const exporters = variables.get('OTEL_TRACES_EXPORTER')
  const other = exporters?.value.split(',').find((name) => name.trim() !== 'otlp')
  if (exporters !== undefined && other !== undefined) refuse(exporters, 'is not supported: use otlp or none')
  if (flag !== '') return { name: endpointFlag, value: flag, isBase: true }
  const traces = variables.get('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT')
  if (traces !== undefined) return { ...traces, isBase: false }
  const all = variables.get('OTEL_EXPORTER_OTLP_ENDPOINT')
  if (all !== undefined) return { ...all, isBase: true }
  if (exporters === undefined) return undefined
  const port = protocolIn(variables)?.value === 'grpc' ? 4317 : 4318
  return { ...exporters, value: `http://localhost:${port}`, isBase: true }
}

function settingsFor(asked: Asked, variables: OtelVariables): OtlpSettings {
  const key = variables.otlp('CLIENT_KEY')
  const certificate = variables.otlp('CLIENT_CERTIFICATE')
  const alone = key === undefined ? certificate : certificate === undefined ? key : undefined
  if (alone !== undefined)
    refuse(
      alone,
      `needs ${key === undefined ? 'OTEL_EXPORTER_OTLP_CLIENT_KEY' : 'OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE'} too`,
    )
  const ca = variables.otlp('CERTIFICATE')
  const compression = variables.otlp('COMPRESSION')
  if (compression !== undefined && compression.value !== 'none' && compression.value !== 'gzip')
    refuse(compression, 'is not supported: use gzip or none')
  return {
    ...parseCollectorEndpoint(asked, protocolIn(variables)),
    headers: {
      ...listOfPairs(variables.get('OTEL_EXPORTER_OTLP_HEADERS')),
      ...listOfPairs(variables.get('OTEL_EXPORTER_OTLP_TRACES_HEADERS')),
    },
    timeoutMs: variables.otlpNumber('TIMEOUT', 10_000),
    compression: compression?.value === 'gzip' ? 'gzip' : 'none',
    tls: {
      ...(ca !== undefined && { ca: ca.value }),
      ...(certificate !== undefined && { certificate: certificate.value }),
      ...(key !== undefined && { key: key.value }),
    },
    sampling: readSampling(variables),
    batch: batchIn(variables),
    resource: resourceIn(variables),
  }
}

function protocolIn(variables: OtelVariables): { readonly name: string; readonly value: OtlpProtocol } | undefined {
  const found = variables.otlp('PROTOCOL')
  if (found === undefined) return undefined
  const { name, value } = found
  return value === 'grpc' || value === 'http/protobuf'
    ? { name, value }
    : refuse(found, 'is not supported: use http/protobuf or grpc')
}

function batchIn(variables: OtelVariables): BatchSettings {
  const batch = {
    maxQueueSize: variables.number('OTEL_BSP_MAX_QUEUE_SIZE', 2048),
    maxExportBatchSize: variables.number('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 512),
    scheduledDelayMs: variables.number('OTEL_BSP_SCHEDULE_DELAY', 5_000, 0),
    exportTimeoutMs: variables.number('OTEL_BSP_EXPORT_TIMEOUT', 30_000),
  }
  if (batch.maxExportBatchSize <= batch.maxQueueSize) return batch
  const size = variables.get('OTEL_BSP_MAX_EXPORT_BATCH_SIZE')
  if (size === undefined) return { ...batch, maxExportBatchSize: batch.maxQueueSize }
  return refuse(size, `is more than OTEL_BSP_MAX_QUEUE_SIZE=${batch.maxQueueSize}: a batch must fit into the queue`)
}

function resourceIn(variables: OtelVariables): Readonly<Record<string, string>> {
  const attributes = listOfPairs(variables.get('OTEL_RESOURCE_ATTRIBUTES'))
  const service = variables.get('OTEL_SERVICE_NAME')
  return service === undefined ? attributes : { ...attributes, 'service.name': service.value }
}
