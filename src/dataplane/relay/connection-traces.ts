/** Makes a trace of each connection that is reported. One that is open for long has several trees in one trace. */
import type { SpanContext, Tracer } from '../../core/trace.ts'
import type { ConnectionReport } from './connection-report.ts'
import { connectionSpans } from './connection-spans.ts'

/** How long something took that a trace tells more about. */
export interface TracedDuration {
  readonly of: 'connection' | 'connected dial' | 'failed dial'
  readonly seconds: number
  readonly traceId: string
  /** On the wall clock. */
  readonly atMs: number
}

export interface ConnectionTracesOptions {
  readonly tracer: Tracer
  onDuration?(this: void, duration: TracedDuration): void
}

/** If more of those that are reported are open at once, the oldest ones end as new traces. */
const mostOpen = 10_000

export class ConnectionTraces {
  readonly #options: ConnectionTracesOptions
  readonly #openById = new Map<string, { readonly context: SpanContext; readonly toldMs: number }>()

  constructor(options: ConnectionTracesOptions) {
    this.#options = options
  }

  add(report: ConnectionReport): void {
    const before = this.#openById.get(report.id)
    const context = this.#options.tracer.record(connectionSpans(report, before?.toldMs), before?.context)
    this.#openById.delete(report.id)
    if (context === undefined) return
    if (!report.hasEnded) this.#keep(report.id, before?.context ?? context, report.endMs)
    this.#tellDurations(report, context.traceId, before === undefined)
  }

  #keep(id: string, context: SpanContext, toldMs: number): void {
    this.#openById.set(id, { context, toldMs })
    const [oldest] = this.#openById.keys()
    if (this.#openById.size > mostOpen && oldest !== undefined) this.#openById.delete(oldest)
  }

  #tellDurations(report: ConnectionReport, traceId: string, isFirst: boolean): void {
    const { onDuration } = this.#options
    if (onDuration === undefined || report.protocol === 'UDP') return
    const { attempts, copying, hasEnded, endMs } = report
    for (const attempt of isFirst ? attempts : []) {
      const of = attempt.error === undefined ? 'connected dial' : 'failed dial'
      onDuration({ of, seconds: (attempt.endMs - attempt.startMs) / 1000, traceId, atMs: attempt.endMs })
    }
    if (copying !== undefined && hasEnded)
      onDuration({ of: 'connection', seconds: (endMs - copying.startMs) / 1000, traceId, atMs: endMs })
  }
}
