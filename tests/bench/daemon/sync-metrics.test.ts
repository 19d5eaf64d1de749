import { expect, test } from 'vitest'
import { parseSyncMetrics } from './sync-metrics.ts'

test('the syncs of IPv4 are read from what both proxies publish, and those of IPv6 are left out', () => {
  const metrics = [
    '# TYPE kubeproxy_sync_full_proxy_rules_duration_seconds histogram',
    'kubeproxy_sync_full_proxy_rules_duration_seconds_bucket{ip_family="IPv4",le="0.512"} 1',
    'kubeproxy_sync_full_proxy_rules_duration_seconds_sum{ip_family="IPv4"} 0.46669739',
    'kubeproxy_sync_full_proxy_rules_duration_seconds_count{ip_family="IPv4"} 1',
    'kubeproxy_sync_full_proxy_rules_duration_seconds_sum{ip_family="IPv6"} 0.2',
    'kubeproxy_sync_full_proxy_rules_duration_seconds_count{ip_family="IPv6"} 7',
    'kubeproxy_sync_proxy_rules_duration_seconds_sum{ip_family="IPv4"} 0.75',
    'kubeproxy_sync_proxy_rules_duration_seconds_count{ip_family="IPv4"} 3',
    'kubeproxy_sync_proxy_rules_last_timestamp_seconds{ip_family="IPv4"} 1.7947564812549336e+09',
    '',
  ].join('\n')
  const { full, partial, all, syncedAtMs } = parseSyncMetrics(metrics)
  expect(full).toEqual({ count: 1, ms: expect.closeTo(466.69739) as number })
  expect(partial).toEqual({ count: 0, ms: 0 })
  expect(all).toEqual({ count: 3, ms: 750 })
  expect(syncedAtMs).toBeCloseTo(1794756481254.93, 1)
})
