import type { SpanRecord } from '../../core/trace.ts'

/** A copy with fields of its own, for JSON and for changes: a record may work out its fields when it is asked. */
export function plainRecord(record: SpanRecord): SpanRecord {
  const { name, context, parentSpanId, links, startMs, durationMs, attributes, error, children } = record
  return {
    name,
    context,
    ...(parentSpanId !== undefined && { parentSpanId }),
    links,
    startMs,
    durationMs,
    attributes,
    ...(error !== undefined && { error }),
    children,
  }
}
