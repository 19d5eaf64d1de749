/**
 * The only file that uses the Prometheus library. It declares what Fairlead needs, so that changing to another library
 * (this one is no longer developed) only changes this file.
 */
import { Counter as LibraryCounter, Gauge as LibraryGauge } from 'prom-client'
import { Registry, collectDefaultMetrics } from 'prom-client'
import type { Metric } from 'prom-client'
import { Cells } from './cells.ts'
import type { Cell } from './cells.ts'
import type { Exemplar } from './exemplars.ts'
import { CounterCell, GaugeCell, HistogramCell } from './metric-cells.ts'
import { renderOpenMetrics } from './open-metrics.ts'
import type { Family, Sample } from './open-metrics.ts'

type Labels<Name extends string> = Readonly<Record<Name, string>>

export interface FamilySpec<Label extends string = string> {
  readonly name: string
  readonly help: string
  readonly labels: readonly Label[]
}

export interface Series<Label extends string> {
  readonly labels: Labels<Label>
  readonly value: number
}

/** What fell into the buckets of one histogram. */
export interface Distribution<Label extends string> {
  readonly labels: Labels<Label>
  /** Upper ones, in order. */
  readonly bounds: readonly number[]
  /** How many fell into each bucket, and after the last bound. They are not added up. */
  readonly counts: readonly number[]
  readonly sum: number
  /** For each bucket, where there is one. */
  readonly exemplars?: readonly (Exemplar | undefined)[]
}

export interface Counter<Label extends string = never> {
  increment(labels: Labels<Label>, by?: number): void
  /** For who increments one series often. */
  at(labels: Labels<Label>): Pick<CounterCell, 'increment'>
}

export interface Gauge<Label extends string = never> {
  set(labels: Labels<Label>, value: number): void
  at(labels: Labels<Label>): Pick<GaugeCell, 'set'>
}

export interface Histogram<Label extends string = never> {
  observe(labels: Labels<Label>, value: number): void
  at(labels: Labels<Label>): Pick<HistogramCell, 'observe'>
}

export class MetricRegistry {
  readonly contentType = Registry.PROMETHEUS_CONTENT_TYPE
  readonly #registry = new Registry()
  readonly #onReset: (() => void)[] = []

  counter<Label extends string>(spec: FamilySpec<Label>): Counter<Label> {
    const cells = this.#cells(spec, () => new CounterCell(spec.name))
    this.counterFrom(spec, () => Promise.resolve(seriesIn(cells)))
    return { increment: (labels, by) => cells.at(labels).increment(by), at: (labels) => cells.at(labels) }
  }

  /** A counter that is kept elsewhere. It is read at each scrape, and has the series that are read then. */
  counterFrom<Label extends string>(spec: FamilySpec<Label>, read: () => Promise<readonly Series<Label>[]>): void {
    void new LibraryCounter<Label>({
      ...this.#configuration(spec),
      async collect() {
        const series = await read()
        this.reset()
        // A counter without labels gets a series when it is reset.
        if (series.length === 0 && spec.labels.length === 0) this.remove()
        for (const { labels, value } of series) this.inc(labels, value)
      },
    })
  }

  /** `collect` runs before each scrape, for values that are cheaper to compute then than to keep up to date. */
  gauge<Label extends string>(spec: FamilySpec<Label>, collect?: (gauge: Gauge<Label>) => void): Gauge<Label> {
    const cells = this.#cells(spec, () => new GaugeCell())
    const gauge: Gauge<Label> = {
      set: (labels, value) => cells.at(labels).set(value),
      at: (labels) => cells.at(labels),
    }
    this.gaugeFrom(spec, () => {
      collect?.(gauge)
      return Promise.resolve(seriesIn(cells))
    })
    return gauge
  }

  /** A gauge that is kept elsewhere, read like `counterFrom`. */
  gaugeFrom<Label extends string>(spec: FamilySpec<Label>, read: () => Promise<readonly Series<Label>[]>): void {
    void new LibraryGauge<Label>({
      ...this.#configuration(spec),
      async collect() {
        const series = await read()
        this.reset()
        if (series.length === 0 && spec.labels.length === 0) this.remove() // As above.
        for (const { labels, value } of series) this.set(labels, value)
      },
    })
  }

  histogram<Label extends string>(spec: FamilySpec<Label>, bounds: readonly number[]): Histogram<Label> {
    const cells = this.#cells(spec, () => new HistogramCell(spec.name, bounds))
    this.histogramFrom(spec, () =>
      cells.all().map(({ labels, cell: { counts, sum } }) => ({ labels, bounds, counts, sum })),
    )
    return { observe: (labels, value) => cells.at(labels).observe(value), at: (labels) => cells.at(labels) }
  }

  /** A histogram that is kept elsewhere, read like `counterFrom`. */
  histogramFrom<Label extends string>(
    { name, help }: FamilySpec<Label>,
    read: () => readonly Distribution<Label>[],
  ): void {
    const values = () => read().flatMap((distribution) => samplesOf(name, distribution))
    const family = {
      name,
      help,
      type: 'histogram',
      get: () => Promise.resolve({ name, help, type: 'histogram', values: values() }),
      reset() {},
    }
    // The library makes text of whatever has this form.
    this.#registry.registerMetric(family as unknown as Metric)
  }

  /** `process_*`, which every Prometheus client has, and `nodejs_*`. */
  addProcessMetrics(): void {
    collectDefaultMetrics({ register: this.#registry })
  }

  /** Clears all values; the families stay. */
  reset(): void {
    this.#registry.resetMetrics()
    for (const forget of this.#onReset) forget()
  }

  get familyNames(): readonly string[] {
    return this.#registry
      .getMetricsAsArray()
      .map(({ name }) => name)
      .sort()
  }

  /** The text of a scrape: sorted by name, and without families that have no series yet, as with Go's client. */
  async render(): Promise<string> {
    const texts = await Promise.all(this.familyNames.map((name) => this.#registry.getSingleMetricAsString(name)))
    return texts.flatMap((text) => (hasSeries(text) ? [`${text}\n`] : [])).join('')
  }

  /** The same, with exemplars. */
  async renderOpenMetrics(): Promise<string> {
    const families = this.familyNames.map(async (name) => this.#registry.getSingleMetric(name)?.get())
    const known = (await Promise.all(families)).filter((family) => family !== undefined)
    return renderOpenMetrics(known as unknown as readonly Family[])
  }

  #cells<Label extends string, C extends Cell>({ labels }: FamilySpec<Label>, empty: () => C): Cells<Label, C> {
    const cells = new Cells(labels, empty)
    this.#onReset.push(() => cells.reset())
    return cells
  }

  #configuration<Label extends string>({ name, help, labels }: FamilySpec<Label>) {
    return { name, help, labelNames: labels, registers: [this.#registry] }
  }
}

function seriesIn<Label extends string>(cells: Cells<Label, CounterCell | GaugeCell>): readonly Series<Label>[] {
  return cells.all().map(({ labels, cell }) => ({ labels, value: cell.value }))
}

function hasSeries(family: string): boolean {
  return family.split('\n', 3).length > 2 // a HELP line, a TYPE line, series
}

function samplesOf<Label extends string>(name: string, distribution: Distribution<Label>): readonly Sample[] {
  const { labels, bounds, counts, sum, exemplars = [] } = distribution
  let total = 0
  const buckets = counts.map((count, index) => {
    total += count
    const le = bounds[index] ?? '+Inf'
    const exemplar = exemplars[index]
    return {
      metricName: `${name}_bucket`,
      labels: { ...labels, le },
      value: total,
      ...(exemplar !== undefined && { exemplar: sampleExemplar(exemplar) }),
    }
  })
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: total },
  ]
}

function sampleExemplar({ traceId, value, atMs }: Exemplar): Sample['exemplar'] {
  return { labelSet: { trace_id: traceId }, value, timestamp: atMs / 1000 }
}
