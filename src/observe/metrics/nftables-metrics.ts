import type { Family } from '../../net/ip.ts'
import { familyLabel } from './family-label.ts'
import type { ProxyMetricFamilies } from './proxy-metric-families.ts'

/** kube-proxy's series about the nftables mode, for one IP family. */
export class PrometheusNftablesMetrics {
  readonly #families: ProxyMetricFamilies
  readonly #labels: { readonly ip_family: string }

  constructor(families: ProxyMetricFamilies, family: Family) {
    this.#families = families
    this.#labels = familyLabel(family)
  }

  syncFailed(): void {
    this.#families.counter('kubeproxy_sync_proxy_rules_nftables_sync_failures_total')?.increment(this.#labels)
  }

  cleanupFailed(): void {
    this.#families.counter('kubeproxy_sync_proxy_rules_nftables_cleanup_failures_total')?.increment(this.#labels)
  }
}
