import type { Counter, FamilySpec, Gauge, Histogram, MetricRegistry } from './prometheus.ts'
import { proxyMetricTable, proxyMetricsOf } from './proxy-metric-table.ts'
import type { ProxyMetricName } from './proxy-metric-table.ts'

type Table = typeof proxyMetricTable
type NameOf<Type extends 'counter' | 'gauge' | 'histogram'> = {
  [Name in ProxyMetricName]: Table[Name]['type'] extends Type ? Name : never
}[ProxyMetricName]
type KernelCounterName = {
  [Name in ProxyMetricName]: Table[Name] extends { readonly needs: 'nfacct' } ? Name : never
}[ProxyMetricName]
type LabelOf<Name extends ProxyMetricName> = Table[Name]['labels'][number]

/**
 * The families of one mode, all registered at once. A family that the mode does not have is undefined, so code that
 * several modes share uses `?.`.
 */
export class ProxyMetricFamilies {
  readonly #countersByName = new Map<string, Counter<string>>()
  readonly #gaugesByName = new Map<string, Gauge<string>>()
  readonly #histogramsByName = new Map<string, Histogram<string>>()
  readonly #registry: MetricRegistry

  constructor(registry: MetricRegistry, mode: string) {
    this.#registry = registry
    for (const name of proxyMetricsOf(mode)) {
      const family = proxyMetricTable[name]
      const spec: FamilySpec = { name, labels: family.labels, help: helpOf(name) }
      if (family.type === 'counter') this.#countersByName.set(name, registry.counter(spec))
      else if (family.type === 'gauge') this.#gaugesByName.set(name, registry.gauge(spec))
      else this.#histogramsByName.set(name, registry.histogram(spec, family.buckets))
    }
  }

  counter<Name extends NameOf<'counter'>>(name: Name): Counter<LabelOf<Name>> | undefined {
    return this.#countersByName.get(name)
  }

  /** Registers a family that the kernel counts, once it is known that it does. */
  addKernelCounter(name: KernelCounterName, read: () => Promise<number | undefined>): void {
    this.#registry.counterFrom({ name, labels: [], help: helpOf(name) }, async () => {
      const value = await read()
      return value === undefined ? [] : [{ labels: {}, value }]
    })
  }

  gauge<Name extends NameOf<'gauge'>>(name: Name): Gauge<LabelOf<Name>> | undefined {
    return this.#gaugesByName.get(name)
  }

  histogram<Name extends NameOf<'histogram'>>(name: Name): Histogram<LabelOf<Name>> | undefined {
    return this.#histogramsByName.get(name)
  }
}

function helpOf(name: ProxyMetricName): string {
  return `[ALPHA] ${proxyMetricTable[name].help}.`
}
