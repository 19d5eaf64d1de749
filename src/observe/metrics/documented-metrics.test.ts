import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { ConfigMetrics } from './config-metrics.ts'
import { addDriftMetrics } from './drift-metrics.ts'
import { addEbpfMetrics } from './ebpf-metrics.ts'
import { addEndpointMetrics } from './endpoint-metrics.ts'
import { addBuildInfo, addFeatureStates } from './kubernetes-metrics.ts'
import { MetricRegistry } from './prometheus.ts'
import { ProxyMetricFamilies } from './proxy-metric-families.ts'
import { proxyMetricTable } from './proxy-metric-table.ts'
import { PrometheusProxyMetrics } from './proxy-metrics.ts'
import { addRelayMetrics, RelayExemplars } from './relay-metrics.ts'
import { RestClientMetrics } from './rest-client-metrics.ts'
import { addSafetyMetrics } from './safety-metrics.ts'
import { SourceMetrics, addSourceContact } from './source-metrics.ts'
import { SpanSeries } from './span-metrics.ts'
import { addTrafficMetrics } from './traffic-metrics.ts'
import { addViewMetrics } from './view-metrics.ts'

test('docs/observability.md lists every metric that there is, and no other', () => {
  const registry = new MetricRegistry()
  const families = new ProxyMetricFamilies(registry, 'userspace')
  void new PrometheusProxyMetrics(registry, families)
  void new RestClientMetrics(registry)
  addEbpfMetrics(registry, { choices: () => [], usage: () => undefined })
  void new SourceMetrics(registry)
  void new SpanSeries(registry)
  const state = { runningHash: '', appliedAtMs: 0, pendingHash: undefined, pending: undefined, refused: undefined }
  void new ConfigMetrics(registry, state)
  addSourceContact(registry, systemClock, () => new Map())
  addSafetyMetrics(registry, { longestOfLastHour: () => undefined })
  addDriftMetrics(registry, { totalOf: () => 0 }, () => [])
  addViewMetrics(registry, () => [])
  addTrafficMetrics(registry, () => Promise.resolve([]))
  addEndpointMetrics(registry, () => Promise.resolve([]))
  addRelayMetrics(registry, { read: () => undefined, exemplars: new RelayExemplars(), freePorts: () => [] })
  addFeatureStates(registry, () => [])
  const build = { major: '', minor: '', gitVersion: '', gitCommit: '', gitTreeState: '', buildDate: '', platform: '' }
  addBuildInfo(registry, build, '')

  const page = readFileSync(new URL('../../../docs/observability.md', import.meta.url), 'utf8')
  const documented = page.match(/`(?:kubeproxy|fairlead|kubernetes|rest_client)_\w+`/g) ?? []
  const existing = [...registry.familyNames, ...Object.keys(proxyMetricTable)]
  expect(new Set(documented)).toEqual(new Set(existing.map((name) => `\`${name}\``)))
})
