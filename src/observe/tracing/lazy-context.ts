import type { SpanContext } from '../../core/trace.ts'
import type { RandomIds } from './random-ids.ts'

/** Gets its ids when somebody asks for them: most spans are forgotten before anybody does. */
export class LazyContext implements SpanContext {
  readonly #ids: RandomIds
  readonly #parent: SpanContext | undefined
  #traceId: string | undefined
  #spanId: string | undefined

  /** `parent`: the span that it is part of, which may be another process'. */
  constructor(ids: RandomIds, parent: SpanContext | undefined) {
    this.#ids = ids
    this.#parent = parent
  }

  get traceId(): string {
    return (this.#traceId ??= this.#parent?.traceId ?? this.#ids.traceId())
  }

  get spanId(): string {
    return (this.#spanId ??= this.#ids.spanId())
  }

  toJSON(): SpanContext {
    return { traceId: this.traceId, spanId: this.spanId }
  }
}
