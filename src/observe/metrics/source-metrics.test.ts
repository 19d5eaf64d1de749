import { expect, test } from 'vitest'
import type { NodeView } from '../../core/backend.ts'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { MetricRegistry } from './prometheus.ts'
import { SourceMetrics } from './source-metrics.ts'
import { addViewMetrics } from './view-metrics.ts'

test('the age of the last contact grows until something is heard again, and failures do not count as contact', async () => {
  const clock = new FakeClock()
  const registry = new MetricRegistry()
  const source = new SourceMetrics(registry, clock)
  source.listed('services')
  source.watching('services')
  await clock.advance(2500)
  source.failed('services')
  expect(await registry.render()).toContain('fairlead_source_last_contact_seconds{resource="services"} 2.5\n')
  source.contact('services')
  expect(source.secondsSinceContact()).toEqual(new Map([['services', 0]]))
  const text = await registry.render()
  for (const what of ['lists', 'watches', 'errors'])
    expect(text).toContain(`fairlead_reflector_${what}_total{resource="services"} 1\n`)
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
