/** Our records in the form that the OpenTelemetry exporters take. */
import { SpanKind, SpanStatusCode, TraceFlags } from '@opentelemetry/api'
import type { HrTime, Link, SpanContext as OtelContext } from '@opentelemetry/api'
import type { Resource } from '@opentelemetry/resources'
import type { ReadableSpan } from '@opentelemetry/sdk-trace'
import type { AttributeValue, SpanContext, SpanLink, SpanRecord } from '../../../core/trace.ts'

export interface SpanOrigin {
  readonly resource: Resource
  /** Of Fairlead. */
  readonly version: string
}

/** The root first, then level by level: if only a part can be sent, it is the upper one. */
export function readableSpans(root: SpanRecord, origin: SpanOrigin): readonly ReadableSpan[] {
  const records = [root]
  for (const record of records) records.push(...record.children)
  return records.map((record) => readableSpan(record, record === root, origin))
}

function readableSpan(record: SpanRecord, isRoot: boolean, { resource, version }: SpanOrigin): ReadableSpan {
  const { name, context, parentSpanId, startMs, durationMs, error } = record
  const own = otelContext(context)
  return {
    name,
    kind: SpanKind.INTERNAL,
    spanContext: () => own,
    ...(parentSpanId !== undefined && {
      parentSpanContext: { ...otelContext({ traceId: context.traceId, spanId: parentSpanId }), isRemote: isRoot },
    }),
    startTime: hrTime(startMs),
    endTime: hrTime(startMs + durationMs),
    duration: hrTime(durationMs),
    ended: true,
    status: error === undefined ? { code: SpanStatusCode.UNSET } : { code: SpanStatusCode.ERROR, message: error },
    attributes: attributesOf(record.attributes),
    links: record.links.map(otelLink),
    events: [],
    resource,
    instrumentationScope: { name: 'fairlead', version },
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  }
}

function otelContext({ traceId, spanId }: SpanContext): OtelContext {
  return { traceId, spanId, traceFlags: TraceFlags.SAMPLED }
}

function otelLink({ context, attributes = {} }: SpanLink): Link {
  return { context: otelContext(context), attributes: attributesOf(attributes) }
}

function attributesOf(
  attributes: Readonly<Record<string, AttributeValue | undefined>>,
): Record<string, string | number | boolean | string[]> {
  const found: Record<string, string | number | boolean | string[]> = {}
  for (const [name, value] of Object.entries(attributes))
    if (value !== undefined) found[name] = typeof value === 'object' ? [...value] : value
  return found
}

/** Seconds and nanoseconds. */
function hrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1000)
  return [seconds, Math.round((ms - seconds * 1000) * 1e6)]
}
