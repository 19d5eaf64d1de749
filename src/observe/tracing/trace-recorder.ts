/** Records trees of spans and hands each over when its root ends. Always on, so it costs little and keeps nothing itself. */
import type { Clock } from '../../core/clock.ts'
import type {
  AttributeValue,
  MeasuredSpan,
  Span,
  SpanContext,
  SpanRecord,
  SpanStart,
  Tracer,
  TraceSink,
} from '../../core/trace.ts'
import { addAttributes, failureOf } from './attributes.ts'
import { openTree } from './open-tree.ts'
import type { TreeParts } from './open-tree.ts'
import { RandomIds } from './random-ids.ts'

export interface TraceRecorderOptions {
  readonly clock: Pick<Clock, 'now' | 'monotonic'>
  readonly sinks?: readonly TraceSink[]
  readonly ids?: RandomIds
}

export class TraceRecorder implements Tracer {
  readonly #clock: TraceRecorderOptions['clock']
  readonly #ids: RandomIds
  readonly #parts: TreeParts
  readonly #sinks: Set<TraceSink>

  constructor({ clock, sinks = [], ids = new RandomIds() }: TraceRecorderOptions) {
    this.#clock = clock
    this.#ids = ids
    this.#sinks = new Set(sinks)
    this.#parts = { ids, elapsed: () => clock.monotonic(), onFinished: (root) => this.#hand(root) }
  }

  /** From now on the sink gets every tree too. Returns the function that ends that. */
  addSink(sink: TraceSink): () => void {
    this.#sinks.add(sink)
    return () => this.#sinks.delete(sink)
  }

  start(name: string, start: SpanStart = {}): Span {
    return openTree(this.#parts, this.#clock.now(), name, start)
  }

  record(root: MeasuredSpan, parent?: SpanContext): SpanContext {
    const record = this.#recordOf(root, parent?.traceId ?? this.#ids.traceId(), parent?.spanId)
    this.#hand(record)
    return record.context
  }

  #recordOf(measured: MeasuredSpan, traceId: string, parentSpanId: string | undefined): SpanRecord {
    const { name, startMs, durationMs, links = [], children = [] } = measured
    const spanId = this.#ids.spanId()
    const attributes: Record<string, AttributeValue> = {}
    if (measured.attributes !== undefined) addAttributes(attributes, measured.attributes)
    const failure = measured.error === undefined ? undefined : failureOf(measured.error)
    if (failure !== undefined) attributes['error.type'] ??= failure.type
    return {
      name,
      context: { traceId, spanId },
      ...(parentSpanId !== undefined && { parentSpanId }),
      links,
      startMs,
      durationMs,
      attributes,
      ...(failure !== undefined && { error: failure.message }),
      children: children.map((child) => this.#recordOf(child, traceId, spanId)),
    }
  }

  #hand(root: SpanRecord): void {
    for (const sink of this.#sinks) sink.finished(root)
  }
}
