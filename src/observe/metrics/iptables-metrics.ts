import type { Family } from '../../net/ip.ts'
import { familyLabel } from './family-label.ts'
import type { ProxyMetricFamilies } from './proxy-metric-families.ts'

/** kube-proxy's series about the iptables mode, for one IP family. */
export class PrometheusIptablesMetrics {
  readonly #families: ProxyMetricFamilies
  readonly #labels: { readonly ip_family: string }

  constructor(families: ProxyMetricFamilies, family: Family) {
    this.#families = families
    this.#labels = familyLabel(family)
  }

  rules(table: 'filter' | 'nat', { total, last }: { readonly total: number; readonly last: number }): void {
    this.#families.gauge('kubeproxy_sync_proxy_rules_iptables_total')?.set({ ...this.#labels, table }, total)
    this.#families.gauge('kubeproxy_sync_proxy_rules_iptables_last')?.set({ ...this.#labels, table }, last)
  }

  restoreFailed({ isFull }: { readonly isFull: boolean }): void {
    const name = 'kubeproxy_sync_proxy_rules_iptables_restore_failures_total'
    this.#families.counter(name)?.increment(this.#labels)
    if (isFull) return
    const partial = 'kubeproxy_sync_proxy_rules_iptables_partial_restore_failures_total'
    this.#families.counter(partial)?.increment(this.#labels)
  }
}
