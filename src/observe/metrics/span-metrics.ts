import type { SpanMetrics } from '../tracing/otlp/trace-export.ts'
import type { Counter, MetricRegistry } from './prometheus.ts'

/** What became of the spans that were meant for a collector. */
export class SpanSeries implements SpanMetrics {
  readonly #spans: Counter<'result'>

  constructor(registry: MetricRegistry) {
    this.#spans = registry.counter({
      name: 'fairlead_spans_total',
      labels: ['result'],
      help: 'Spans for the trace collector: sent, or dropped because it did not take them.',
    })
  }

  spans(result: 'sent' | 'dropped', count: number): void {
    this.#spans.increment({ result }, count)
  }
}
