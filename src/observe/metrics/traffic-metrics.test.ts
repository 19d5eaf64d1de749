import { expect, test } from 'vitest'
import { testRoute, testView } from '../../core/testing/routes.ts'
import { MetricRegistry } from './prometheus.ts'
import { addTrafficMetrics } from './traffic-metrics.ts'

test('each Service port has its bytes, its connections, and those that failed', async () => {
  const web = testRoute('shop/web', { portName: 'http' })
  const gone = testRoute('shop/gone')
  const turnedAway = { overload: 4, unreachable: 0 }
  const carried = { connections: 3, open: 1, bytesIn: 10, bytesOut: 20, dialFailures: 2, seconds: 1.5, turnedAway }
  const registry = new MetricRegistry()
  const traffic = new Map([web, gone].map(({ key }) => [key, carried]))
  addTrafficMetrics(registry, () => Promise.resolve([{ view: testView(web), traffic, atMs: 0, before: undefined }]))
  const lines = (await registry.render()).split('\n').filter((line) => line.startsWith('fairlead_service'))
  const labels = 'namespace="shop",service="web",port="http",protocol="TCP",ip_family="IPv4"'
  expect(lines).toEqual([
    `fairlead_service_bytes_total{${labels},direction="in"} 10`,
    `fairlead_service_bytes_total{${labels},direction="out"} 20`,
    `fairlead_service_connection_seconds_total{${labels}} 1.5`,
    `fairlead_service_connections_total{${labels}} 3`,
    `fairlead_service_dial_failures_total{${labels}} 2`,
    `fairlead_service_open_connections{${labels}} 1`,
    `fairlead_service_turned_away_total{${labels},reason="overload"} 4`,
    `fairlead_service_turned_away_total{${labels},reason="unreachable"} 0`,
  ])
})

test('what limits did is told of Services that have one', async () => {
  const [limited, other] = [testRoute('shop/web', { traffic: { maxConnectionAgeMs: 1_000 } }), testRoute('shop/other')]
  const registry = new MetricRegistry()
  const traffic = new Map([limited, other].map(({ key }) => [key, { limited: { aged: 2, 'aged-reset': 0 } }]))
  const view = testView(limited, other)
  addTrafficMetrics(registry, () => Promise.resolve([{ view, traffic, atMs: 0, before: undefined }]))
  const lines = (await registry.render()).split('\n').filter((line) => line.startsWith('fairlead_service'))
  expect(lines.map((line) => line.replace(/.*(service="\w+").*(event=".*)/, '$1 $2'))).toEqual([
    'service="web" event="aged"} 2',
    'service="web" event="aged-reset"} 0',
  ])
})
