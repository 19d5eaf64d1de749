import { expect, test } from 'vitest'
import { testEndpoint, testRoute, testView } from '../../core/testing/routes.ts'
import { addEndpointMetrics } from './endpoint-metrics.ts'
import { MetricRegistry } from './prometheus.ts'

test('each endpoint has what is known of it, and one that is gone has nothing', async () => {
  const pods = [testEndpoint('10.64.0.1', 80), testEndpoint('10.64.0.2', 80)]
  const web = testRoute('shop/web', { portName: 'http', endpoints: pods })
  const endpoints = new Map([
    ['10.64.0.1:80', { connections: 3, open: 1, bytesIn: 10, bytesOut: 20, dialFailures: 2 }],
    ['10.64.0.2:80', { connections: 4 }],
    ['10.64.0.3:80', { connections: 5, open: 1 }],
  ])
  const registry = new MetricRegistry()
  const traffic = new Map([[web.key, { endpoints }]])
  addEndpointMetrics(registry, () => Promise.resolve([{ view: testView(web), traffic, atMs: 0, before: undefined }]))
  const lines = (await registry.render()).split('\n').filter((line) => line.startsWith('fairlead_endpoint'))
  const labels = 'namespace="shop",service="web",port="http",protocol="TCP",ip_family="IPv4"'
  expect(lines).toEqual([
    `fairlead_endpoint_bytes_total{${labels},endpoint="10.64.0.1:80",direction="in"} 10`,
    `fairlead_endpoint_bytes_total{${labels},endpoint="10.64.0.1:80",direction="out"} 20`,
    `fairlead_endpoint_connections_total{${labels},endpoint="10.64.0.1:80"} 3`,
    `fairlead_endpoint_connections_total{${labels},endpoint="10.64.0.2:80"} 4`,
    `fairlead_endpoint_dial_failures_total{${labels},endpoint="10.64.0.1:80"} 2`,
    `fairlead_endpoint_open_connections{${labels},endpoint="10.64.0.1:80"} 1`,
  ])
})
