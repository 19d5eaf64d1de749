/**
 * kube-proxy's own metric families. Dashboards and alerts everywhere use them, so names, labels and buckets are fixed.
 * Each family belongs to the modes that can fill it.
 */

interface Family {
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly labels: readonly string[]
  readonly modes: 'all' | readonly string[]
  /** Counted by the kernel, if it can; registered once that is known. */
  readonly needs?: 'nfacct'
  readonly buckets?: readonly number[]
  readonly help: string
}

/** 1 ms to 16 s, each twice the previous one. */
const durationBuckets = Array.from({ length: 15 }, (_, exponent) => 0.001 * 2 ** exponent)

/** 0.25 and 0.5 seconds, each second of the first minute, then larger steps up to five minutes. */
const programmingBuckets = [0.25, 0.5, ...steps(1, 59, 1), ...steps(60, 115, 5), ...steps(120, 300, 30)]

const iptables = ['iptables'] as const
const nftables = ['nftables', 'ebpf'] as const
const partialSyncs = ['iptables', 'nftables', 'ebpf'] as const
const restores = ['iptables', 'ipvs'] as const
const conntrack = ['iptables', 'ipvs', 'nftables', 'ebpf'] as const

export const proxyMetricTable = {
  kubeproxy_sync_proxy_rules_duration_seconds: {
    type: 'histogram',
    labels: ['ip_family'],
    modes: 'all',
    buckets: durationBuckets,
    help: 'How long a sync took, in seconds',
  },
  kubeproxy_sync_full_proxy_rules_duration_seconds: {
    type: 'histogram',
    labels: ['ip_family'],
    modes: partialSyncs,
    buckets: durationBuckets,
    help: 'How long a sync of everything took, in seconds',
  },
  kubeproxy_sync_partial_proxy_rules_duration_seconds: {
    type: 'histogram',
    labels: ['ip_family'],
    modes: partialSyncs,
    buckets: durationBuckets,
    help: 'How long a sync of only what changed took, in seconds',
  },
  kubeproxy_sync_proxy_rules_last_timestamp_seconds: {
    type: 'gauge',
    labels: ['ip_family'],
    modes: 'all',
    help: 'When a sync last succeeded, in Unix seconds',
  },
  kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds: {
    type: 'gauge',
    labels: ['ip_family'],
    modes: 'all',
    help: 'When a sync was last requested, in Unix seconds',
  },
  kubeproxy_network_programming_duration_seconds: {
    type: 'histogram',
    labels: ['ip_family'],
    modes: 'all',
    buckets: programmingBuckets,
    help: 'From the change of a Service or pod in the cluster until this node had programmed it, in seconds',
  },
  kubeproxy_sync_proxy_rules_endpoint_changes_pending: {
    type: 'gauge',
    labels: [],
    modes: 'all',
    help: 'EndpointSlice changes that wait for a sync',
  },
  kubeproxy_sync_proxy_rules_endpoint_changes_total: {
    type: 'counter',
    labels: [],
    modes: 'all',
    help: 'EndpointSlice changes seen',
  },
  kubeproxy_sync_proxy_rules_service_changes_pending: {
    type: 'gauge',
    labels: [],
    modes: 'all',
    help: 'Service changes that wait for a sync',
  },
  kubeproxy_sync_proxy_rules_service_changes_total: {
    type: 'counter',
    labels: [],
    modes: 'all',
    help: 'Service changes seen',
  },
  kubeproxy_sync_proxy_rules_no_local_endpoints_total: {
    type: 'gauge',
    labels: ['traffic_policy', 'ip_family'],
    modes: 'all',
    help: 'Service ports with a Local traffic policy that have endpoints, but none on this node',
  },
  kubeproxy_proxy_healthz_total: {
    type: 'counter',
    labels: ['code'],
    modes: 'all',
    help: 'Answers of /healthz by HTTP status',
  },
  kubeproxy_proxy_livez_total: {
    type: 'counter',
    labels: ['code'],
    modes: 'all',
    help: 'Answers of /livez by HTTP status',
  },
  kubeproxy_sync_proxy_rules_iptables_restore_failures_total: {
    type: 'counter',
    labels: ['ip_family'],
    modes: restores,
    help: 'Calls of iptables-restore that failed',
  },
  kubeproxy_sync_proxy_rules_iptables_partial_restore_failures_total: {
    type: 'counter',
    labels: ['ip_family'],
    modes: iptables,
    help: 'Calls of iptables-restore for only what changed that failed',
  },
  kubeproxy_sync_proxy_rules_iptables_total: {
    type: 'gauge',
    labels: ['table', 'ip_family'],
    modes: iptables,
    help: 'iptables rules that the proxy owns',
  },
  kubeproxy_sync_proxy_rules_iptables_last: {
    type: 'gauge',
    labels: ['table', 'ip_family'],
    modes: iptables,
    help: 'iptables rules that the last sync wrote',
  },
  kubeproxy_iptables_ct_state_invalid_dropped_packets_total: {
    type: 'counter',
    labels: [],
    modes: iptables,
    needs: 'nfacct',
    help: 'Packets dropped because conntrack called them invalid',
  },
  kubeproxy_iptables_localhost_nodeports_accepted_packets_total: {
    type: 'counter',
    labels: [],
    modes: iptables,
    needs: 'nfacct',
    help: 'Packets to node ports that came through the loopback interface',
  },
  kubeproxy_sync_proxy_rules_nftables_sync_failures_total: {
    type: 'counter',
    labels: ['ip_family'],
    modes: nftables,
    help: 'nftables transactions that failed',
  },
  kubeproxy_sync_proxy_rules_nftables_cleanup_failures_total: {
    type: 'counter',
    labels: ['ip_family'],
    modes: nftables,
    help: 'Removals of unused nftables chains that failed',
  },
  kubeproxy_conntrack_reconciler_sync_duration_seconds: {
    type: 'histogram',
    labels: ['ip_family'],
    modes: conntrack,
    buckets: durationBuckets,
    help: 'How long it took to find and delete stale conntrack entries, in seconds',
  },
  kubeproxy_conntrack_reconciler_deleted_entries_total: {
    type: 'counter',
    labels: ['ip_family'],
    modes: conntrack,
    help: 'Stale conntrack entries deleted',
  },
} as const satisfies Readonly<Record<string, Family>>

export type ProxyMetricName = keyof typeof proxyMetricTable

/** The families that a mode has on every node. */
export function proxyMetricsOf(mode: string): ProxyMetricName[] {
  const names = Object.keys(proxyMetricTable) as ProxyMetricName[]
  return names.filter((name) => {
    const { modes, needs }: Family = proxyMetricTable[name]
    return (modes === 'all' || modes.includes(mode)) && needs === undefined
  })
}

function steps(first: number, last: number, step: number): number[] {
  return Array.from({ length: (last - first) / step + 1 }, (_, index) => first + index * step)
}
