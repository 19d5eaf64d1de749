/** From a client's connection to the trace that a bucket of the histogram names. */
import { expect, test } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import type { SpanRecord } from '../../core/trace.ts'
import { openRelay } from '../../dataplane/relay/open-relay.ts'
import { ask, eventually } from '../../dataplane/relay/testing/clients.ts'
import { namedEndpoint } from '../../dataplane/relay/testing/endpoints.ts'
import { relayTo, use } from '../../dataplane/relay/testing/relay-under-test.ts'
import { memoryHost } from '../host/testing/memory-host.ts'
import { daemonMetrics } from './daemon-metrics.ts'
import { Succession } from '../succession/succession.ts'
import { daemonTracing } from './daemon-tracing.ts'
import { ObservedRelay } from './observed-relay.ts'
import { memoryDaemon } from './testing/memory-daemon.ts'

async function given(...flags: readonly string[]) {
  const host = { ...memoryHost(), openRelay, clock: systemClock }
  const userspace = ['--proxy-mode=userspace', '--userspace-engine=node', ...flags]
  const daemon = await memoryDaemon({ flags: userspace })
  const [metrics, tracing] = [daemonMetrics(daemon.running, host), daemonTracing(systemClock)]
  const roots: SpanRecord[] = []
  tracing.recorder.addSink({ finished: (root) => roots.push(root) })
  const observed = new ObservedRelay({ ...daemon, host }, { metrics, tracing, succession: new Succession() })
  const make = () => observed.open({ mayBeTransparent: false })
  const linesOf = async (name: string) =>
    (await metrics.registry.renderOpenMetrics()).split('\n').filter((line) => line.startsWith(name))
  return { roots, linesOf, observed, ...(await relayTo(make, [use(await namedEndpoint('a'))])) }
}

test('a bucket of the histogram names the trace of a connection that fell into it', async () => {
  const { roots, linesOf, address, observed } = await given('--trace-sampling=1')
  observed.noteProxyPorts('ipv4', { countFree: (protocol) => (protocol === 'TCP' ? 7 : 8) })
  expect(await ask(address)).toBe('a')
  await eventually(() => roots.length === 1)
  const traceId = roots[0]?.context.traceId ?? ''
  expect(roots[0]).toMatchObject({
    name: 'proxyConnection',
    attributes: { service_port: 'shop/web:http', result: 'connected' },
    children: [{ name: 'tryConnect' }, { name: 'proxyTCP' }],
  })
  expect(traceId).toMatch(/^[0-9a-f]{32}$/)
  for (const family of ['connection', 'dial']) {
    const named = (await linesOf(`fairlead_relay_${family}_duration_seconds_bucket`)).filter((line) =>
      line.includes(`# {trace_id="${traceId}"}`),
    )
    expect(named).toHaveLength(1)
  }
  expect(await linesOf('fairlead_relay_accepted_total')).toEqual([
    'fairlead_relay_accepted_total{protocol="TCP"} 1',
    'fairlead_relay_accepted_total{protocol="UDP"} 0',
  ])
  expect(await linesOf('fairlead_relay_proxy_ports_free')).toEqual([
    'fairlead_relay_proxy_ports_free{ip_family="IPv4",protocol="TCP"} 7',
    'fairlead_relay_proxy_ports_free{ip_family="IPv4",protocol="UDP"} 8',
  ])
})

test('without sampling there is no trace, and everything is counted', async () => {
  const { roots, linesOf, address, relay } = await given('--trace-sampling=0')
  expect(await ask(address)).toBe('a')
  await eventually(() => relay.totals().carried.TCP.active === 0)
  expect(await linesOf('fairlead_relay_connection_duration_seconds_count')).toEqual([
    'fairlead_relay_connection_duration_seconds_count 1',
  ])
  expect(roots).toEqual([])
})
