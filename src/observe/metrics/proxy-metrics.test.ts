import { spawnSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { addBuildInfo, addFeatureStates } from './kubernetes-metrics.ts'
import { MetricRegistry } from './prometheus.ts'
import { ProxyMetricFamilies } from './proxy-metric-families.ts'
import { PrometheusProxyMetrics } from './proxy-metrics.ts'
import { RestClientMetrics } from './rest-client-metrics.ts'

const everyMode = [
  'kubeproxy_network_programming_duration_seconds',
  'kubeproxy_proxy_healthz_total',
  'kubeproxy_proxy_livez_total',
  'kubeproxy_sync_proxy_rules_duration_seconds',
  'kubeproxy_sync_proxy_rules_endpoint_changes_pending',
  'kubeproxy_sync_proxy_rules_endpoint_changes_total',
  'kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds',
  'kubeproxy_sync_proxy_rules_last_timestamp_seconds',
  'kubeproxy_sync_proxy_rules_no_local_endpoints_total',
  'kubeproxy_sync_proxy_rules_service_changes_pending',
  'kubeproxy_sync_proxy_rules_service_changes_total',
]
const conntrack = [
  'kubeproxy_conntrack_reconciler_deleted_entries_total',
  'kubeproxy_conntrack_reconciler_sync_duration_seconds',
]
const fullAndPartial = [
  'kubeproxy_sync_full_proxy_rules_duration_seconds',
  'kubeproxy_sync_partial_proxy_rules_duration_seconds',
]
const iptables = [
  ...everyMode,
  ...conntrack,
  ...fullAndPartial,
  'kubeproxy_sync_proxy_rules_iptables_last',
  'kubeproxy_sync_proxy_rules_iptables_partial_restore_failures_total',
  'kubeproxy_sync_proxy_rules_iptables_restore_failures_total',
  'kubeproxy_sync_proxy_rules_iptables_total',
]
describe('a mode registers exactly the families that belong to it', () => {
  for (const { mode, families } of [
    { mode: 'userspace', families: everyMode },
    { mode: 'kernelspace', families: everyMode },
    { mode: 'iptables', families: iptables },
    {
      mode: 'ipvs',
      families: [...everyMode, ...conntrack, 'kubeproxy_sync_proxy_rules_iptables_restore_failures_total'],
    },
    {
      mode: 'nftables',
      families: [
        ...everyMode,
        ...conntrack,
        ...fullAndPartial,
        'kubeproxy_sync_proxy_rules_nftables_cleanup_failures_total',
        'kubeproxy_sync_proxy_rules_nftables_sync_failures_total',
      ],
    },
  ]) {
    test(`mode ${mode}`, () => {
      const registry = new MetricRegistry()
      void new ProxyMetricFamilies(registry, mode)
      expect(new Set(registry.familyNames)).toEqual(new Set(families))
    })
  }
})

test('what the kernel counts is read at each scrape, and not shown while there is nothing to read', async () => {
  const registry = new MetricRegistry()
  let packets: number | undefined
  const name = 'kubeproxy_iptables_ct_state_invalid_dropped_packets_total'
  new ProxyMetricFamilies(registry, 'iptables').addKernelCounter(name, () => Promise.resolve(packets))
  expect(await registry.render()).not.toContain(`\n${name} `)
  packets = 7
  expect(await registry.render()).toContain(`\n${name} 7\n`)
  expect(await registry.render()).toContain(`\n${name} 7\n`)
})

test('a family without series is not shown, one without labels is shown at zero', async () => {
  const { registry } = given('userspace')
  expect(await registry.render()).toBe(
    `# HELP kubeproxy_sync_proxy_rules_endpoint_changes_pending [ALPHA] EndpointSlice changes that wait for a sync.
# TYPE kubeproxy_sync_proxy_rules_endpoint_changes_pending gauge
kubeproxy_sync_proxy_rules_endpoint_changes_pending 0
# HELP kubeproxy_sync_proxy_rules_endpoint_changes_total [ALPHA] EndpointSlice changes seen.
# TYPE kubeproxy_sync_proxy_rules_endpoint_changes_total counter
kubeproxy_sync_proxy_rules_endpoint_changes_total 0
# HELP kubeproxy_sync_proxy_rules_service_changes_pending [ALPHA] Service changes that wait for a sync.
# TYPE kubeproxy_sync_proxy_rules_service_changes_pending gauge
kubeproxy_sync_proxy_rules_service_changes_pending 0
# HELP kubeproxy_sync_proxy_rules_service_changes_total [ALPHA] Service changes seen.
# TYPE kubeproxy_sync_proxy_rules_service_changes_total counter
kubeproxy_sync_proxy_rules_service_changes_total 0
`,
  )
})

test('what the brain reports becomes the series that kube-proxy has', async () => {
  const { registry, metrics } = given('userspace')
  metrics.serviceChange()
  metrics.serviceChange()
  metrics.endpointChange()
  metrics.pendingChanges({ services: 3, slices: 4 })
  metrics.syncRequested('ipv4', 1_700_000_000_500)
  metrics.syncRan('ipv6', { seconds: 0.3, full: true, hasFailed: false })
  metrics.syncSucceeded('ipv6', 1_700_000_001_000)
  metrics.programmed('ipv4', 2)
  metrics.noLocalEndpoints('ipv4', 'external', 5)
  metrics.healthAnswered('healthz', 503)
  metrics.healthAnswered('livez', 200)
  metrics.objectProblem('Service')
  const series = await seriesOf(registry, { withoutBuckets: true })
  expect(series).toEqual([
    'fairlead_object_problems_total{kind="Service"} 1',
    'fairlead_sync_failures_total{ip_family="IPv6"} 0',
    'kubeproxy_network_programming_duration_seconds_count{ip_family="IPv4"} 1',
    'kubeproxy_network_programming_duration_seconds_sum{ip_family="IPv4"} 2',
    'kubeproxy_proxy_healthz_total{code="503"} 1',
    'kubeproxy_proxy_livez_total{code="200"} 1',
    'kubeproxy_sync_proxy_rules_duration_seconds_count{ip_family="IPv6"} 1',
    'kubeproxy_sync_proxy_rules_duration_seconds_sum{ip_family="IPv6"} 0.3',
    'kubeproxy_sync_proxy_rules_endpoint_changes_pending 4',
    'kubeproxy_sync_proxy_rules_endpoint_changes_total 1',
    'kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds{ip_family="IPv4"} 1700000000.5',
    'kubeproxy_sync_proxy_rules_last_timestamp_seconds{ip_family="IPv6"} 1700000001',
    'kubeproxy_sync_proxy_rules_no_local_endpoints_total{ip_family="IPv4",traffic_policy="external"} 5',
    'kubeproxy_sync_proxy_rules_service_changes_pending 3',
    'kubeproxy_sync_proxy_rules_service_changes_total 2',
  ])
})

test('after a reset a value is there again once it is written again, also when it is the same', async () => {
  const { registry, metrics } = given('iptables')
  const shown = async () => (await registry.render()).split('\n').filter((line) => /^\w+no_local\w+\{/.test(line))
  const series = 'kubeproxy_sync_proxy_rules_no_local_endpoints_total{ip_family="IPv4",traffic_policy="internal"}'
  metrics.noLocalEndpoints('ipv4', 'internal', 2)
  metrics.noLocalEndpoints('ipv4', 'internal', 2)
  expect(await shown()).toEqual([`${series} 2`])
  registry.reset()
  expect(await shown()).toEqual([])
  metrics.noLocalEndpoints('ipv4', 'internal', 2)
  expect(await shown()).toEqual([`${series} 2`])
  metrics.noLocalEndpoints('ipv4', 'internal', 0)
  expect(await shown()).toEqual([`${series} 0`])
})

test('a mode with partial syncs tells full and partial ones apart', async () => {
  const { registry, metrics } = given('nftables')
  metrics.syncRan('ipv4', { seconds: 1, full: true, hasFailed: false })
  metrics.syncRan('ipv4', { seconds: 2, full: false, hasFailed: true })
  const series = await seriesOf(registry, { withoutBuckets: true })
  expect(series.filter((line) => line.includes('_seconds_sum'))).toEqual([
    'kubeproxy_sync_full_proxy_rules_duration_seconds_sum{ip_family="IPv4"} 1',
    'kubeproxy_sync_partial_proxy_rules_duration_seconds_sum{ip_family="IPv4"} 2',
    'kubeproxy_sync_proxy_rules_duration_seconds_sum{ip_family="IPv4"} 3',
  ])
})

test('a sync is counted in 15 buckets from 1 ms to 16.384 s', async () => {
  const { registry, metrics } = given('userspace')
  metrics.syncRan('ipv4', { seconds: 1, full: true, hasFailed: false })
  expect(await bucketsOf(registry, 'kubeproxy_sync_proxy_rules_duration_seconds')).toEqual(
    '0.001 0.002 0.004 0.008 0.016 0.032 0.064 0.128 0.256 0.512 1.024 2.048 4.096 8.192 16.384 +Inf'.split(' '),
  )
})

test('the programming latency is counted in 80 buckets from 250 ms to 5 min', async () => {
  const { registry, metrics } = given('userspace')
  metrics.programmed('ipv4', 1)
  const buckets = await bucketsOf(registry, 'kubeproxy_network_programming_duration_seconds')
  expect(buckets).toHaveLength(81)
  expect(buckets.slice(0, 4)).toEqual(['0.25', '0.5', '1', '2'])
  expect(buckets.slice(60)).toEqual(
    '59 60 65 70 75 80 85 90 95 100 105 110 115 120 150 180 210 240 270 300 +Inf'.split(' '),
  )
})

test('a request to the API server that got no answer counts as an error', async () => {
  const registry = new MetricRegistry()
  const metrics = new RestClientMetrics(registry)
  metrics.requestFinished({ method: 'GET', host: '10.96.0.1:443', status: 200, seconds: 0.01 })
  metrics.requestFinished({ method: 'GET', host: '10.96.0.1:443', status: undefined, seconds: 30 })
  const series = await seriesOf(registry, { withoutBuckets: true })
  expect(series).toEqual([
    'rest_client_request_duration_seconds_count{host="10.96.0.1:443",verb="GET"} 2',
    'rest_client_request_duration_seconds_sum{host="10.96.0.1:443",verb="GET"} 30.01',
    'rest_client_requests_total{code="200",host="10.96.0.1:443",method="GET"} 1',
    'rest_client_requests_total{code="<error>",host="10.96.0.1:443",method="GET"} 1',
  ])
  expect(await bucketsOf(registry, 'rest_client_request_duration_seconds')).toEqual(
    '0.005 0.025 0.1 0.25 0.5 1 2 4 8 15 30 60 +Inf'.split(' '),
  )
})

test('two registries know nothing of each other', async () => {
  const one = given('userspace')
  const other = given('userspace')
  one.metrics.serviceChange()
  expect(await other.registry.render()).toContain('kubeproxy_sync_proxy_rules_service_changes_total 0')
})

const promtool = 'promtool'
const hasPromtool = spawnSync(promtool, ['--version']).status === 0

test.skipIf(!hasPromtool)(
  'promtool (skipped when it is not installed) finds nothing to criticise but the names that kube-proxy chose',
  async () => {
    const { registry, metrics } = given('iptables')
    addBuildInfo(registry, build, 'v20.20.2')
    addFeatureStates(registry, () => [{ name: 'ComponentFlagz', stage: 'BETA', isEnabled: true }])
    new RestClientMetrics(registry).requestFinished({ method: 'GET', host: 'h"\\\n', status: 200, seconds: 1 })
    metrics.syncRan('ipv4', { seconds: 1, full: true, hasFailed: false })
    metrics.programmed('ipv4', 1)
    metrics.noLocalEndpoints('ipv4', 'internal', 1)
    const checked = spawnSync(promtool, ['check', 'metrics'], { input: await registry.render(), encoding: 'utf8' })
    expect((checked.stdout + checked.stderr).trim().split('\n')).toEqual([
      'kubeproxy_sync_proxy_rules_no_local_endpoints_total non-counter metrics should not have "_total" suffix',
    ])
  },
)

const build = {
  major: '1',
  minor: '36',
  gitVersion: 'v1.36.4+fairlead.0.1.0',
  gitCommit: 'abc',
  gitTreeState: 'clean',
  buildDate: '2026-11-15T09:00:00Z',
  platform: 'linux/amd64',
}

test('the build and the feature gates are shown as every Kubernetes component does', async () => {
  const registry = new MetricRegistry()
  addBuildInfo(registry, build, 'v20.20.2')
  addFeatureStates(registry, () => [
    { name: 'ComponentFlagz', stage: 'BETA', isEnabled: true },
    { name: 'AllAlpha', stage: 'ALPHA', isEnabled: false },
  ])
  expect(await seriesOf(registry, {})).toEqual([
    'kubernetes_build_info{build_date="2026-11-15T09:00:00Z",compiler="node",git_commit="abc",git_tree_state="clean",git_version="v1.36.4+fairlead.0.1.0",go_version="v20.20.2",major="1",minor="36",platform="linux/amd64"} 1',
    'kubernetes_feature_enabled{name="AllAlpha",stage="ALPHA"} 0',
    'kubernetes_feature_enabled{name="ComponentFlagz",stage="BETA"} 1',
  ])
})

function given(mode: string) {
  const registry = new MetricRegistry()
  const families = new ProxyMetricFamilies(registry, mode)
  // This family is registered in any mode and checked by name where it matters.
  const metrics = new PrometheusProxyMetrics(registry, families)
  return { registry, metrics }
}

/** Sorted, with sorted labels, so that the order in which the library prints them does not matter. */
async function seriesOf(registry: MetricRegistry, { withoutBuckets = false }): Promise<string[]> {
  const lines = (await registry.render()).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return lines
    .filter((line) => !(withoutBuckets && line.includes('_bucket{')))
    .map((line) => line.replace(/\{(.*)\}/, (_, labels: string) => `{${labels.split(',').toSorted().join(',')}}`))
    .toSorted()
}

async function bucketsOf(registry: MetricRegistry, name: string): Promise<string[]> {
  const lines = (await registry.render()).split('\n').filter((line) => line.startsWith(`${name}_bucket{`))
  const edges = lines.flatMap((line) => /le="([^"]+)"/.exec(line)?.[1] ?? [])
  return [...new Set(edges)]
}
