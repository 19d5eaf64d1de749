import { expect, test } from 'vitest'
import type { NodeView } from '../../core/backend.ts'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { MetricRegistry } from './prometheus.ts'
import { SourceMetrics, addSourceContact } from './source-metrics.ts'
import { addViewMetrics } from './view-metrics.ts'

test('lists, watches and failures are counted by kind', async () => {
  const registry = new MetricRegistry()
  const source = new SourceMetrics(registry)
  source.listed('Service')
  source.watchStarted('Service')
  source.failed('Service', 'gone')
  const text = await registry.render()
  expect(text).toContain('fairlead_reflector_lists_total{kind="Service"} 1\n')
  expect(text).toContain('fairlead_reflector_watches_total{kind="Service"} 1\n')
  expect(text).toContain('fairlead_reflector_errors_total{kind="Service",reason="gone"} 1\n')
})

test('the age of the last contact grows until something is heard again', async () => {
  const clock = new FakeClock()
  const registry = new MetricRegistry()
  const status = new Map([
    ['Service', { lastContactMs: clock.now() }],
    ['Node', { lastContactMs: undefined }],
  ])
  addSourceContact(registry, clock, () => status)
  await clock.advance(2500)
  const text = await registry.render()
  expect(text).toContain('fairlead_source_last_contact_seconds{kind="Service"} 2.5\n')
  expect(text).not.toContain('Node')
})

test('routes and endpoints are counted when somebody looks', async () => {
  const registry = new MetricRegistry()
  const routesByKey = new Map([
    ['a', { endpoints: [1, 2, 3] }],
    ['b', { endpoints: [] }],
  ])
  addViewMetrics(registry, () => [{ family: 'ipv6', routesByKey } as unknown as NodeView])
  const text = await registry.render()
  expect(text).toContain('fairlead_routes{ip_family="IPv6"} 2\n')
  expect(text).toContain('fairlead_endpoints{ip_family="IPv6"} 3\n')
})

test('the process shows its start, its memory and its event loop', async () => {
  const registry = new MetricRegistry()
  registry.addProcessMetrics()
  const text = await registry.render()
  for (const name of ['process_start_time_seconds', 'process_resident_memory_bytes', 'nodejs_eventloop_lag_seconds'])
    expect(text).toMatch(new RegExp(`^${name} [\\d.e+-]+$`, 'm'))
})
