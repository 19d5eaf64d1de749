/** Records trees of spans and hands each over when its root ends. Always on, so it costs little and keeps nothing itself. */
import type { Clock } from '../../core/clock.ts'
import { noSpan } from '../../core/trace.ts'
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
import { LazyContext } from './lazy-context.ts'
import { openTree } from './open-tree.ts'
import type { TreeParts } from './open-tree.ts'
import { RandomIds } from './random-ids.ts'

export interface TraceRecorderOptions {
  readonly clock: Pick<Clock, 'now' | 'monotonic'>
  readonly sinks?: readonly TraceSink[]
  readonly ids?: RandomIds
}

export class TraceRecorder implements Tracer {
  readonly #ids: RandomIds
  readonly #parts: TreeParts
  readonly #sinks: Set<TraceSink>

  constructor({ clock, sinks = [], ids = new RandomIds() }: TraceRecorderOptions) {
    this.#ids = ids
    this.#sinks = new Set(sinks)
    this.#parts = { ids, clock, onFinished: (root) => this.#hand(root) }
  }

  /** From now on the sink gets every tree too. Returns the function that ends that. */
  addSink(sink: TraceSink): () => void {
    this.#sinks.add(sink)
    return () => this.#sinks.delete(sink)
  }

  start(name: string, start: SpanStart = {}): Span {
    return this.#isWanted(name) ? openTree(this.#parts, name, start) : new UnrecordedSpan(this.#ids, start.parent)
  }

  record(root: MeasuredSpan, parent?: SpanContext): SpanContext {
    if (!this.#isWanted(root.name)) return new LazyContext(this.#ids, parent)
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

  #isWanted(name: string): boolean {
    for (const sink of this.#sinks) if (isWantedBy(sink, name)) return true
    return false
  }

  #hand(root: SpanRecord): void {
    for (const sink of this.#sinks) if (isWantedBy(sink, root.name)) sink.finished(root)
  }
}

function isWantedBy(sink: TraceSink, name: string): boolean {
  return sink.wants === undefined || sink.wants(name)
}

/** The root of a tree that nobody wants. A sync that it causes can still name it. */
class UnrecordedSpan implements Span {
  readonly #ids: RandomIds
  readonly #parent: SpanContext | undefined
  #context: SpanContext | undefined

  constructor(ids: RandomIds, parent: SpanContext | undefined) {
    this.#ids = ids
    this.#parent = parent
  }

  get isRecorded(): boolean {
    return false
  }

  get context(): SpanContext {
    return (this.#context ??= new LazyContext(this.#ids, this.#parent))
  }

  child(): Span {
    return noSpan
  }

  set(): void {}

  link(): void {}

  end(): void {}
}
