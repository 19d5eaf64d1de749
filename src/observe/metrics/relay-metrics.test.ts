import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { MetricRegistry } from './prometheus.ts'
import { addRelayMetrics, RelayExemplars } from './relay-metrics.ts'
import type { RelayNumbers } from './relay-metrics.ts'

const turnedAway = { 'no-endpoint': 1, unreachable: 2, 'source-not-allowed': 0, overload: 3 }
const carried = { connections: 10, active: 4, bytesIn: 100, bytesOut: 200, turnedAway, limited: { aged: 7 } }
const numbers: RelayNumbers = {
  carried: { TCP: carried, UDP: { ...carried, active: 1 } },
  dials: 9,
  dialFailures: { refused: 2, timeout: 1, unreachable: 0, other: 0 },
  avoided: 2,
  connections: { bounds: [0.1, 1], counts: [5, 0, 1], seconds: 3.5 },
  dialled: { bounds: [0.1, 1], counts: [6, 0, 0], seconds: 0.1 },
  undialled: { bounds: [0.1, 1], counts: [2, 1, 0], seconds: 0.3 },
  descriptors: { used: 9, budget: 900 },
}

function given(read: () => RelayNumbers | undefined = () => numbers) {
  const [registry, exemplars] = [new MetricRegistry(), new RelayExemplars()]
  const free = { labels: { ip_family: 'IPv4', protocol: 'TCP' }, value: 28_000 }
  addRelayMetrics(registry, { read, exemplars, freePorts: () => (read() === undefined ? [] : [free]) })
  return { registry, exemplars }
}

test('the relay shows what it carries, what fails, how long it takes, and how near its limits it is', async () => {
  const lines = (await given().registry.render()).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  expect(lines).toEqual([
    ...(['TCP', 'UDP'] as const).flatMap((protocol) =>
      Object.entries(turnedAway).map(
        ([reason, value]) => `fairlead_relay_accept_drops_total{protocol="${protocol}",reason="${reason}"} ${value}`,
      ),
    ),
    'fairlead_relay_accepted_total{protocol="TCP"} 10',
    'fairlead_relay_accepted_total{protocol="UDP"} 10',
    'fairlead_relay_active_connections 4',
    'fairlead_relay_avoided_endpoints_total 2',
    'fairlead_relay_bytes_total{direction="in"} 200',
    'fairlead_relay_bytes_total{direction="out"} 400',
    'fairlead_relay_connection_duration_seconds_bucket{le="0.1"} 5',
    'fairlead_relay_connection_duration_seconds_bucket{le="1"} 5',
    'fairlead_relay_connection_duration_seconds_bucket{le="+Inf"} 6',
    'fairlead_relay_connection_duration_seconds_sum 3.5',
    'fairlead_relay_connection_duration_seconds_count 6',
    'fairlead_relay_descriptors_limit 900',
    'fairlead_relay_descriptors_used 9',
    'fairlead_relay_dial_attempts_total 9',
    ...['connected', 'failed'].flatMap((result) => {
      const [first, last, sum] = result === 'connected' ? [6, 6, 0.1] : [2, 3, 0.3]
      const name = 'fairlead_relay_dial_duration_seconds'
      return [
        `${name}_bucket{result="${result}",le="0.1"} ${first}`,
        `${name}_bucket{result="${result}",le="1"} ${last}`,
        `${name}_bucket{result="${result}",le="+Inf"} ${last}`,
        `${name}_sum{result="${result}"} ${sum}`,
        `${name}_count{result="${result}"} ${last}`,
      ]
    }),
    'fairlead_relay_dial_failures_total{reason="refused"} 2',
    'fairlead_relay_dial_failures_total{reason="timeout"} 1',
    'fairlead_relay_dial_failures_total{reason="unreachable"} 0',
    'fairlead_relay_dial_failures_total{reason="other"} 0',
    'fairlead_relay_limited_connections_total{protocol="TCP",event="aged"} 7',
    'fairlead_relay_limited_connections_total{protocol="UDP",event="aged"} 7',
    'fairlead_relay_proxy_ports_free{ip_family="IPv4",protocol="TCP"} 28000',
    'fairlead_relay_udp_clients 1',
  ])
})

test('without a relay there are no series', async () => {
  expect(await given(() => undefined).registry.render()).toBe('')
})

test('in OpenMetrics, and only there, a bucket leads to a trace of what fell into it', async () => {
  const { registry, exemplars } = given()
  const add = (value: number, traceId: string) =>
    exemplars.connections.add(numbers.connections.bounds, { value, traceId, atMs: 1_794_752_395_400 })
  add(0.05, 'old')
  add(0.06, 'aaaa')
  add(3, 'bbbb')
  const text = await registry.renderOpenMetrics()
  expect(text.split('\n').filter((line) => line.includes('connection_duration'))).toEqual([
    '# HELP fairlead_relay_connection_duration_seconds How long TCP connections lasted, from the answer of the endpoint until both sockets were closed.',
    '# TYPE fairlead_relay_connection_duration_seconds histogram',
    'fairlead_relay_connection_duration_seconds_bucket{le="0.1"} 5 # {trace_id="aaaa"} 0.06 1794752395.4',
    'fairlead_relay_connection_duration_seconds_bucket{le="1"} 5',
    'fairlead_relay_connection_duration_seconds_bucket{le="+Inf"} 6 # {trace_id="bbbb"} 3 1794752395.4',
    'fairlead_relay_connection_duration_seconds_sum 3.5',
    'fairlead_relay_connection_duration_seconds_count 6',
  ])
  expect(text).toContain('# TYPE fairlead_relay_dial_attempts counter\nfairlead_relay_dial_attempts_total 9\n')
  expect(text.endsWith('\n# EOF\n')).toBe(true)
  expect(await registry.render()).not.toContain('trace_id')
})

test('OpenMetrics has names, labels and values that its readers accept', async () => {
  const registry = new MetricRegistry()
  registry.counter({ name: 'odd', labels: [], help: 'No "total".' }).increment({}, 1)
  registry.gauge({ name: 'empty', labels: ['a'], help: 'E.' })
  registry.gauge({ name: 'strange', labels: ['a'], help: 'S.' }).set({ a: 'x"\\\n' }, Number.POSITIVE_INFINITY)
  registry.histogram({ name: 'h', labels: [], help: 'H.' }, [1]).observe({}, 2)
  expect(await registry.renderOpenMetrics()).toBe(`# HELP h H.
# TYPE h histogram
h_bucket{le="1"} 0
h_bucket{le="+Inf"} 1
h_sum 2
h_count 1
# HELP odd No \\"total\\".
# TYPE odd unknown
odd 1
# HELP strange S.
# TYPE strange gauge
strange{a="x\\"\\\\\\n"} +Inf
# EOF
`)
})

const promtool = 'promtool'
const hasPromtool = spawnSync(promtool, ['--version']).status === 0

test.skipIf(!hasPromtool)('promtool (skipped when it is not installed) has nothing to criticise', async () => {
  const input = await given().registry.render()
  const checked = spawnSync(promtool, ['check', 'metrics'], { input, encoding: 'utf8' })
  expect(checked.stdout + checked.stderr).toBe('')
  expect(checked.status).toBe(0)
})
