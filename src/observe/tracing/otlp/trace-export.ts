/**
 * Hands trees of spans to a collector, in batches and in the background. What it does not take in time is dropped and
 * counted: a collector that is away costs nobody but the traces.
 */
import type { ReadableSpan, SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace'
import type { Clock } from '../../../core/clock.ts'
import type { Logger } from '../../../core/logger.ts'
import type { SpanContext, SpanRecord, TraceSink } from '../../../core/trace.ts'
import { readableSpans } from './readable-spans.ts'
import type { SpanOrigin } from './readable-spans.ts'

export interface TraceExportOptions {
  /** From the official package; it is given an exporter that counts. */
  readonly processor: (exporter: SpanExporter) => SpanProcessor
  readonly exporter: SpanExporter
  readonly origin: SpanOrigin
  readonly isSampled: (root: Pick<SpanRecord, 'context' | 'parentSpanId'>) => boolean
  readonly maxQueueSize: number
  /** Where it sends, for the log. */
  readonly endpoint: string
  readonly metrics: SpanMetrics
  readonly clock: Clock
  readonly log: Logger
}

export interface SpanMetrics {
  spans(result: 'sent' | 'dropped', count: number): void
}

/** The end of the process waits this long for the last spans. */
const flushWithinMs = 2_000

export class TraceExport implements TraceSink, AsyncDisposable {
  readonly #options: TraceExportOptions
  readonly #processor: SpanProcessor
  /** Spans in the processor's queue. It drops what is beyond its limit without a word, so we count before it does. */
  #queued = 0
  /** Dropped since the collector last took something; undefined while it does. */
  #lost: number | undefined
  #isAbandoned = false

  constructor(options: TraceExportOptions) {
    this.#options = options
    this.#processor = options.processor(this.#counting(options.exporter))
  }

  /** Some work that cannot be called off is still waiting for the collector. */
  get isAbandoned(): boolean {
    return this.#isAbandoned
  }

  /** Whether a trace that begins here is sent. */
  sends(context: SpanContext): boolean {
    return this.#options.isSampled({ context })
  }

  finished(root: SpanRecord): void {
    const { origin, maxQueueSize, isSampled } = this.#options
    if (!isSampled(root)) return
    const spans = readableSpans(root, origin)
    const room = maxQueueSize - this.#queued
    // Half a tree misleads. Only one that would never fit is cut.
    const taken = spans.length <= room ? spans : spans.length > maxQueueSize ? spans.slice(0, room) : []
    this.#drop(spans.length - taken.length)
    this.#queued += taken.length
    for (const span of taken) this.#processor.onEnd(span)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { clock } = this.#options
    const waited = new AbortController()
    const isOver = await Promise.race([
      this.#processor.shutdown().then(
        () => true,
        () => true,
      ),
      clock.sleep(flushWithinMs, waited.signal).then(
        () => false,
        () => false,
      ),
    ])
    waited.abort()
    this.#isAbandoned = !isOver
  }

  #counting(exporter: SpanExporter): SpanExporter {
    return {
      export: (spans: ReadableSpan[], done) => {
        this.#queued -= spans.length
        exporter.export(spans, (result) => {
          if (hasSucceeded(result)) this.#sent(spans.length)
          else this.#failed(spans.length, result.error)
          done(result)
        })
      },
      forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
      shutdown: () => exporter.shutdown(),
    }
  }

  #sent(count: number): void {
    const { metrics, log, endpoint } = this.#options
    metrics.spans('sent', count)
    if (this.#lost === undefined) return
    log.info('the trace collector takes spans again', { endpoint, dropped: this.#lost })
    this.#lost = undefined
  }

  #failed(count: number, error: Error | undefined): void {
    const { log, endpoint } = this.#options
    if (this.#lost === undefined) {
      this.#lost = 0
      log.warn('the trace collector does not take our spans; they are dropped until it does', {
        endpoint,
        reason: error?.message ?? 'no reason given',
      })
    }
    this.#drop(count)
  }

  #drop(count: number): void {
    if (count === 0) return
    this.#options.metrics.spans('dropped', count)
    if (this.#lost !== undefined) this.#lost += count
  }
}

/** The code is an enum of a package that is not a direct dependency. */
function hasSucceeded({ code }: { readonly code: number }): boolean {
  return code === 0
}
