import type { Counter, FamilySpec, Gauge, Histogram, MetricRegistry } from './prometheus.ts'
import { proxyMetricTable, proxyMetricsOf } from './proxy-metric-table.ts'
import type { ProxyMetricName } from './proxy-metric-table.ts'

type Table = typeof proxyMetricTable
type NameOf<Type extends 'counter' | 'gauge' | 'histogram'> = {
  [Name in ProxyMetricName]: Table[Name]['type'] extends Type ? Name : never
}[ProxyMetricName]
type LabelOf<Name extends ProxyMetricName> = Table[Name]['labels'][number]

/**
 * The families of one mode, all registered at once. Asking for one that the mode does not have gives undefined: code
 * that several modes share reports what there is with `?.`.
 */
export class ProxyMetricFamilies {
  readonly #countersByName = new Map<string, Counter<string>>()
  readonly #gaugesByName = new Map<string, Gauge<string>>()
  readonly #histogramsByName = new Map<string, Histogram<string>>()

  constructor(registry: MetricRegistry, mode: string, options: { readonly hasNfacct: boolean }) {
    for (const name of proxyMetricsOf(mode, options)) {
      const family = proxyMetricTable[name]
      const spec: FamilySpec = { name, labels: family.labels, help: `[ALPHA] ${family.help}.` }
      if (family.type === 'counter') this.#countersByName.set(name, registry.counter(spec))
      else if (family.type === 'gauge') this.#gaugesByName.set(name, registry.gauge(spec))
      else this.#histogramsByName.set(name, registry.histogram(spec, family.buckets))
    }
  }

  counter<Name extends NameOf<'counter'>>(name: Name): Counter<LabelOf<Name>> | undefined {
    return this.#countersByName.get(name)
  }

  gauge<Name extends NameOf<'gauge'>>(name: Name): Gauge<LabelOf<Name>> | undefined {
    return this.#gaugesByName.get(name)
  }

  histogram<Name extends NameOf<'histogram'>>(name: Name): Histogram<LabelOf<Name>> | undefined {
    return this.#histogramsByName.get(name)
  }
}
