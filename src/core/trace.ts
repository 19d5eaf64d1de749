/**
 * What took how long, and why it was done: spans in a tree, with links to what caused them. The brain and the backends
 * see no more than this; `observe/tracing` keeps the last ones in memory and sends them to a collector.
 */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>

/** Names a span to others: in a link, and to another process. */
export interface SpanContext {
  /** 32 hex digits. */
  readonly traceId: string
  /** 16 hex digits. */
  readonly spanId: string
}

export interface Span {
  /** Absent where nobody records. */
  readonly context: SpanContext | undefined
  child(name: string, attributes?: SpanAttributes): Span
  set(attributes: SpanAttributes): void
  /** With an error, what the span stands for has failed. Whatever comes later is ignored. */
  end(error?: unknown): void
}

export interface SpanStart {
  readonly attributes?: SpanAttributes
  /** Of another process: the span belongs to that trace. */
  readonly parent?: SpanContext
  /** What caused it, if that is no part of it. */
  readonly links?: readonly SpanContext[]
}

export interface Tracer {
  /** Begins a tree. */
  start(name: string, start?: SpanStart): Span
}

export const noSpan: Span = {
  context: undefined,
  child: () => noSpan,
  set() {},
  end() {},
}

export const noTracer: Tracer = { start: () => noSpan }

/** Does the work as a part of the span. */
export async function within<T>(
  parent: Span,
  name: string,
  work: (span: Span) => Promise<T> | T,
  attributes?: SpanAttributes,
): Promise<T> {
  const span = parent.child(name, attributes)
  try {
    const result = await work(span)
    span.end()
    return result
  } catch (error) {
    span.end(error)
    throw error
  }
}
