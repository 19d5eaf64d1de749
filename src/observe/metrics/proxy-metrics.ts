import type { ObjectKind } from '../../api/records.ts'
import type { ProxyMetrics, SyncRan } from '../../core/proxy-metrics.ts'
import type { NoticeReason } from '../../core/routing/service-notices.ts'
import { removalBounds } from '../../core/sync/time-to-safety.ts'
import type { Family } from '../../net/ip.ts'
import { familyLabel } from './family-label.ts'
import type { Counter, Gauge, Histogram, MetricRegistry } from './prometheus.ts'
import type { ProxyMetricFamilies } from './proxy-metric-families.ts'

/** Turns what the core reports into kube-proxy's series. */
export class PrometheusProxyMetrics implements ProxyMetrics {
  readonly #families: ProxyMetricFamilies
  readonly #changes: ChangeCells
  readonly #syncs: Readonly<Record<Family, SyncCells>>
  readonly #objectProblems: Counter<'kind'>
  readonly #serviceNotices: Gauge<'ip_family' | 'reason'>
  readonly #oldConnections: Counter<'ip_family'>

  constructor(registry: MetricRegistry, families: ProxyMetricFamilies) {
    this.#families = families
    const failures = registry.counter({
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
    this.#oldConnections = registry.counter({
      name: 'fairlead_old_connections_ended_total',
      labels: ['ip_family'],
      help: 'Connections of clients on this node that were ended because they were older than their Service wants.',
    })
    const removals = registry.histogram(
      {
        name: 'fairlead_endpoint_removal_seconds',
        labels: ['ip_family'],
        help: "From an endpoint's removal in the cluster until no new connection reaches it through this node.",
      },
      removalBounds,
    )
    const own = { failures, removals }
    this.#changes = changeCells(families)
    this.#syncs = { ipv4: syncCells(families, own, 'ipv4'), ipv6: syncCells(families, own, 'ipv6') }
  }

  serviceChange(): void {
    this.#changes.services?.increment()
  }

  endpointChange(): void {
    this.#changes.endpoints?.increment()
  }

  pendingChanges({ services, slices }: { readonly services: number; readonly slices: number }): void {
    this.#changes.pendingServices?.set(services)
    this.#changes.pendingEndpoints?.set(slices)
  }

  syncRequested(family: Family, atMs: number): void {
    this.#syncs[family].lastQueued?.set(atMs / 1000)
  }

  syncRan(family: Family, { seconds, full, hasFailed }: SyncRan): void {
    const cells = this.#syncs[family]
    // From the first sync on there is a series: increase() does not see what a series begins with.
    cells.failures.increment(hasFailed ? 1 : 0)
    cells.durations?.observe(seconds)
    if (full) cells.fullDurations?.observe(seconds)
    else cells.partialDurations?.observe(seconds)
  }

  syncSucceeded(family: Family, atMs: number): void {
    this.#syncs[family].last?.set(atMs / 1000)
  }

  programmed(family: Family, latencySeconds: number): void {
    this.#syncs[family].programming?.observe(latencySeconds)
  }

  endpointRemoved(family: Family, seconds: number): void {
    this.#syncs[family].removals.observe(seconds)
  }

  noLocalEndpoints(family: Family, policy: 'internal' | 'external', routes: number): void {
    this.#syncs[family].noLocal[policy]?.set(routes)
  }

  objectProblem(kind: ObjectKind): void {
    this.#objectProblems.increment({ kind })
  }

  serviceNotices(family: Family, reason: NoticeReason, count: number): void {
    this.#serviceNotices.set({ ...familyLabel(family), reason }, count)
  }

  oldConnectionsEnded(family: Family, count: number): void {
    this.#oldConnections.increment(familyLabel(family), count)
  }

  healthAnswered(endpoint: 'healthz' | 'livez', status: 200 | 503): void {
    this.#families.counter(`kubeproxy_proxy_${endpoint}_total`)?.increment({ code: String(status) })
  }
}

type ChangeCells = ReturnType<typeof changeCells>
type SyncCells = ReturnType<typeof syncCells>

/** What every change writes is looked up once. */
function changeCells(families: ProxyMetricFamilies) {
  return {
    services: families.counter('kubeproxy_sync_proxy_rules_service_changes_total')?.at({}),
    endpoints: families.counter('kubeproxy_sync_proxy_rules_endpoint_changes_total')?.at({}),
    pendingServices: families.gauge('kubeproxy_sync_proxy_rules_service_changes_pending')?.at({}),
    pendingEndpoints: families.gauge('kubeproxy_sync_proxy_rules_endpoint_changes_pending')?.at({}),
  }
}

interface OwnMetrics {
  readonly failures: Counter<'ip_family'>
  readonly removals: Histogram<'ip_family'>
}

/** And what every sync writes. */
function syncCells(families: ProxyMetricFamilies, { failures, removals }: OwnMetrics, family: Family) {
  const labels = familyLabel(family)
  const noLocal = families.gauge('kubeproxy_sync_proxy_rules_no_local_endpoints_total')
  return {
    failures: failures.at(labels),
    removals: removals.at(labels),
    durations: families.histogram('kubeproxy_sync_proxy_rules_duration_seconds')?.at(labels),
    fullDurations: families.histogram('kubeproxy_sync_full_proxy_rules_duration_seconds')?.at(labels),
    partialDurations: families.histogram('kubeproxy_sync_partial_proxy_rules_duration_seconds')?.at(labels),
    last: families.gauge('kubeproxy_sync_proxy_rules_last_timestamp_seconds')?.at(labels),
    lastQueued: families.gauge('kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds')?.at(labels),
    programming: families.histogram('kubeproxy_network_programming_duration_seconds')?.at(labels),
    noLocal: {
      internal: noLocal?.at({ ...labels, traffic_policy: 'internal' }),
      external: noLocal?.at({ ...labels, traffic_policy: 'external' }),
    },
  }
}
