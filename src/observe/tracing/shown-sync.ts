/** A sync as `/debug/syncs` shows it: what people ask for first, then the whole tree. */
import type { AttributeValue, SpanLink, SpanRecord } from '../../core/trace.ts'

export interface ShownSync {
  readonly startedAt: string
  readonly durationMs: number
  readonly mode: string
  readonly family: string
  readonly trigger: string
  readonly error?: string
  /** The first ones that caused it. */
  readonly events: readonly ShownEvent[]
  readonly moreEvents: number
  readonly trace: SpanRecord
}

interface ShownEvent {
  /** `OnServiceUpdate`, … */
  readonly event: string
  /** `Service default/web`. */
  readonly object: string
  readonly resourceVersion: string
  readonly receivedAt: string
  /** Until the sync began. */
  readonly waitedMs: number
  readonly traceId: string
}

export function shownSync(root: SpanRecord): ShownSync {
  const { attributes, error } = root
  return {
    startedAt: new Date(root.startMs).toISOString(),
    durationMs: rounded(root.durationMs),
    mode: text(attributes['proxy.mode']),
    family: text(attributes['network.type']),
    trigger: text(attributes['trigger']),
    ...(error !== undefined && { error }),
    events: root.links.map((link) => shownEvent(link, root)),
    moreEvents: Number(attributes['events.more'] ?? 0),
    trace: root,
  }
}

function shownEvent({ context, attributes = {} }: SpanLink, { startMs }: SpanRecord): ShownEvent {
  const receivedMs = Number(attributes['received_ms'] ?? startMs)
  return {
    event: text(attributes['event']),
    object: text(attributes['object']),
    resourceVersion: text(attributes['k8s.resource_version']),
    receivedAt: new Date(receivedMs).toISOString(),
    waitedMs: rounded(Math.max(0, startMs - receivedMs)),
    traceId: context.traceId,
  }
}

function text(value: AttributeValue | undefined): string {
  return value === undefined ? '' : String(value)
}

function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000
}
