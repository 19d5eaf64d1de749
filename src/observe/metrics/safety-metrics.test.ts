import { expect, test } from 'vitest'
import type { ObjectKey } from '../../api/records.ts'
import type { RouteKey } from '../../core/route.ts'
import { TimeToSafety } from '../../core/sync/time-to-safety.ts'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { testView } from '../../core/testing/routes.ts'
import { MetricRegistry } from './prometheus.ts'
import { ProxyMetricFamilies } from './proxy-metric-families.ts'
import { PrometheusProxyMetrics } from './proxy-metrics.ts'
import { addSafetyMetrics } from './safety-metrics.ts'

test('what a removal took is counted, and the longest of an hour is a gauge as long as there is one', async () => {
  const registry = new MetricRegistry()
  const clock = new FakeClock()
  const metrics = new PrometheusProxyMetrics(registry, new ProxyMetricFamilies(registry, 'nftables'))
  const safety = new TimeToSafety({ clock, metrics })
  addSafetyMetrics(registry, safety)
  const gauge = async () => /^fairlead_safe_prestop_seconds.*$/m.exec(await registry.render())?.[0]
  expect(await gauge()).toBeUndefined()

  const removal = {
    key: 'demo/web/TCP' as RouteKey,
    service: 'demo/web' as ObjectKey,
    address: '10.0.0.1:80',
    family: 'ipv4',
    sinceMs: clock.now() - 1500,
    measuredFrom: 'arrival',
  } as const
  safety.committed({ view: testView(), change: { keys: [] }, removals: [removal] }, [])
  expect(await gauge()).toBe('fairlead_safe_prestop_seconds{ip_family="IPv4"} 1.5')
  const text = await registry.render()
  expect(text).toContain('fairlead_endpoint_removal_seconds_bucket{ip_family="IPv4",le="1"} 0')
  expect(text).toContain('fairlead_endpoint_removal_seconds_bucket{ip_family="IPv4",le="2"} 1')
  await clock.advance(61 * 60_000)
  expect(await gauge()).toBeUndefined()
})
