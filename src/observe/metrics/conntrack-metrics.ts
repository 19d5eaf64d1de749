import type { Family } from '../../net/ip.ts'
import { familyLabel } from './family-label.ts'
import type { ProxyMetricFamilies } from './proxy-metric-families.ts'

/** kube-proxy's series about the clean-up of stale UDP flows. */
export class PrometheusConntrackMetrics {
  readonly #families: ProxyMetricFamilies

  constructor(families: ProxyMetricFamilies) {
    this.#families = families
  }

  reconciled(family: Family, { seconds, deleted }: { readonly seconds: number; readonly deleted: number }): void {
    const labels = familyLabel(family)
    this.#families.histogram('kubeproxy_conntrack_reconciler_sync_duration_seconds')?.observe(labels, seconds)
    this.#families.counter('kubeproxy_conntrack_reconciler_deleted_entries_total')?.increment(labels, deleted)
  }
}
