import type { ObjectKind } from '../../api/records.ts'
import type { ProxyMetrics, SyncRan } from '../../core/proxy-metrics.ts'
import type { NoticeReason } from '../../core/routing/service-notices.ts'
import { removalBounds } from '../../core/sync/time-to-safety.ts'
import type { Family } from '../../net/ip.ts'
import { familyLabel } from './family-label.ts'
import type { Counter, Gauge, Histogram, MetricRegistry } from './prometheus.ts'
import type { ProxyMetricFamilies } from './proxy-metric-families.ts'

const noLabels = Object.freeze({})

/** Made once: they are written after each sync, and hardly ever with another value. */
const noLocalLabels = { ipv4: noLocalLabelsOf('ipv4'), ipv6: noLocalLabelsOf('ipv6') } satisfies Record<Family, unknown>

function noLocalLabelsOf(family: Family) {
  const label = familyLabel(family)
  return {
    internal: Object.freeze({ ...label, traffic_policy: 'internal' }),
    external: Object.freeze({ ...label, traffic_policy: 'external' }),
  }
}

/** Turns what the core reports into kube-proxy's series. */
export class PrometheusProxyMetrics implements ProxyMetrics {
  readonly #families: ProxyMetricFamilies
  readonly #syncFailures: Counter<'ip_family'>
  readonly #objectProblems: Counter<'kind'>
  readonly #serviceNotices: Gauge<'ip_family' | 'reason'>
  readonly #endpointRemovals: Histogram<'ip_family'>

  constructor(registry: MetricRegistry, families: ProxyMetricFamilies) {
    this.#families = families
    this.#syncFailures = registry.counter({
      name: 'fairlead_sync_failures_total',
      labels: ['ip_family'],
      help: 'Syncs that failed, in every mode. Each is retried.',
    })
    this.#objectProblems = registry.counter({
      name: 'fairlead_object_problems_total',
      labels: ['kind'],
      help: 'Objects, or parts of them, that were ignored because they are invalid.',
    })
    this.#serviceNotices = registry.gauge({
      name: 'fairlead_service_notices',
      labels: ['ip_family', 'reason'],
      help: 'Services that are not served as they ask now, or with a danger: addresses that are not theirs, source ranges.',
    })
    this.#endpointRemovals = registry.histogram(
      {
        name: 'fairlead_endpoint_removal_seconds',
        labels: ['ip_family'],
        help: "From an endpoint's removal in the cluster until no new connection reaches it through this node.",
      },
      removalBounds,
    )
  }

  serviceChange(): void {
    this.#families.counter('kubeproxy_sync_proxy_rules_service_changes_total')?.increment(noLabels)
  }

  endpointChange(): void {
    this.#families.counter('kubeproxy_sync_proxy_rules_endpoint_changes_total')?.increment(noLabels)
  }

  pendingChanges({ services, slices }: { readonly services: number; readonly slices: number }): void {
    this.#families.gauge('kubeproxy_sync_proxy_rules_service_changes_pending')?.set(noLabels, services)
    this.#families.gauge('kubeproxy_sync_proxy_rules_endpoint_changes_pending')?.set(noLabels, slices)
  }

  syncRequested(family: Family, atMs: number): void {
    const gauge = this.#families.gauge('kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds')
    gauge?.set(familyLabel(family), atMs / 1000)
  }

  syncRan(family: Family, { seconds, full, hasFailed }: SyncRan): void {
    const labels = familyLabel(family)
    // From the first sync on there is a series: increase() does not see what a series begins with.
    this.#syncFailures.increment(labels, hasFailed ? 1 : 0)
    this.#families.histogram('kubeproxy_sync_proxy_rules_duration_seconds')?.observe(labels, seconds)
    const ofKind = full
      ? 'kubeproxy_sync_full_proxy_rules_duration_seconds'
      : 'kubeproxy_sync_partial_proxy_rules_duration_seconds'
    this.#families.histogram(ofKind)?.observe(labels, seconds)
  }

  syncSucceeded(family: Family, atMs: number): void {
    const gauge = this.#families.gauge('kubeproxy_sync_proxy_rules_last_timestamp_seconds')
    gauge?.set(familyLabel(family), atMs / 1000)
  }

  programmed(family: Family, latencySeconds: number): void {
    const histogram = this.#families.histogram('kubeproxy_network_programming_duration_seconds')
    histogram?.observe(familyLabel(family), latencySeconds)
  }

  endpointRemoved(family: Family, seconds: number): void {
    this.#endpointRemovals.observe(familyLabel(family), seconds)
  }

  noLocalEndpoints(family: Family, policy: 'internal' | 'external', routes: number): void {
    const gauge = this.#families.gauge('kubeproxy_sync_proxy_rules_no_local_endpoints_total')
    gauge?.set(noLocalLabels[family][policy], routes)
  }

  objectProblem(kind: ObjectKind): void {
    this.#objectProblems.increment({ kind })
  }

  serviceNotices(family: Family, reason: NoticeReason, count: number): void {
    this.#serviceNotices.set({ ...familyLabel(family), reason }, count)
  }

  healthAnswered(endpoint: 'healthz' | 'livez', status: 200 | 503): void {
    this.#families.counter(`kubeproxy_proxy_${endpoint}_total`)?.increment({ code: String(status) })
  }
}
