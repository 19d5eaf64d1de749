/**
 * What took how long, and why it was done: spans in a tree, with links to what caused them. The brain and the backends
 * see no more than this; `observe/tracing` keeps the last ones in memory and sends them to a collector.
 */
export type AttributeValue = string | number | boolean | readonly string[]

export type SpanAttributes = Readonly<Record<string, AttributeValue | undefined>>

/** Names a span to others: in a link, and to another process. */
export interface SpanContext {
  /** 32 hex digits. */
  readonly traceId: string
  /** 16 hex digits. */
  readonly spanId: string
}

/** To a span that caused this one, but that this one is no part of. */
export interface SpanLink {
  readonly context: SpanContext
  /** What to know of the cause without looking it up. */
  readonly attributes?: SpanAttributes
}

export interface Span {
  /** For links, and for other processes. Absent where nobody records anything. */
  readonly context: SpanContext | undefined
  /** Where nobody does, nothing need be worked out for its sake. */
  readonly isRecorded: boolean
  child(name: string, attributes?: SpanAttributes): Span
  /** They are kept as they are until somebody looks, so the caller must not change them, nor a list in them, afterwards. */
  set(attributes: SpanAttributes): void
  link(link: SpanLink): void
  /**
   * With an error, what the span stands for has failed. What is still open below it ends with it. Whatever comes later
   * is ignored.
   */
  end(error?: unknown): void
}

export interface SpanStart {
  readonly attributes?: SpanAttributes
  /** Of another process: the span belongs to that trace. */
  readonly parent?: SpanContext | undefined
  readonly links?: readonly SpanLink[]
}

/** A span that has ended, with all that was part of it. */
export interface SpanRecord {
  readonly name: string
  readonly context: SpanContext
  /** In the root of a tree: a span of another process. */
  readonly parentSpanId?: string | undefined
  readonly links: readonly SpanLink[]
  /** Unix milliseconds with a fraction. Within a tree only the root's comes from the wall clock. */
  readonly startMs: number
  readonly durationMs: number
  readonly attributes: Readonly<Record<string, AttributeValue>>
  /** Why it failed, if it has. */
  readonly error?: string
  readonly children: readonly SpanRecord[]
}

/** What somebody else has measured, told when it was over. */
export interface MeasuredSpan {
  readonly name: string
  /** Unix milliseconds, as in a record. */
  readonly startMs: number
  readonly durationMs: number
  readonly attributes?: SpanAttributes
  readonly error?: unknown
  readonly links?: readonly SpanLink[]
  readonly children?: readonly MeasuredSpan[]
}

/** Gets every tree once it has ended. Must not throw, and must not keep the caller waiting. */
export interface TraceSink {
  /** Which trees, by the name of the root; absent: all. What nobody wants is not recorded. */
  wants?(name: string): boolean
  finished(root: SpanRecord): void
}

export interface Tracer {
  /** Begins a tree. */
  start(name: string, start?: SpanStart): Span
  /** Takes a whole tree. Returns the root's context, undefined where nobody records. */
  record(root: MeasuredSpan, parent?: SpanContext): SpanContext | undefined
}

export const noSpan: Span = {
  context: undefined,
  isRecorded: false,
  child: () => noSpan,
  set() {},
  link() {},
  end() {},
}

export const noTracer: Tracer = { start: () => noSpan, record: () => undefined }

/** Does the work as a part of the span. */
export function within<T>(
  parent: Span,
  name: string,
  work: (span: Span) => Promise<T> | T,
  attributes?: SpanAttributes,
): Promise<T> {
  return during(parent.child(name, attributes), work)
}

/** The span ends with the work. */
export async function during<T>(span: Span, work: (span: Span) => Promise<T> | T): Promise<T> {
  try {
    const result = await work(span)
    span.end()
    return result
  } catch (error) {
    span.end(error)
    throw error
  }
}
