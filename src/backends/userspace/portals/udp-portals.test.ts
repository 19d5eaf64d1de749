import { expect, test } from 'vitest'
import { selectStaleFlows } from '../../../core/sync/stale-flows.ts'
import type { Flow, FlowTargets } from '../../../core/sync/stale-flows.ts'
import { testRoute } from '../../../core/testing/routes.ts'
import { UdpPortals } from './udp-portals.ts'

const dns = testRoute('shop/dns', { protocol: 'UDP', clusterIP: '10.96.0.53', port: 53, nodePort: 30053 })
const localIps = ['127.0.0.1', '192.0.2.1']

test('flows to the port of an earlier process are stale, and those to the port of now are not', () => {
  const udp = new UdpPortals()
  udp.note(dns, [{ ip: '192.0.2.1', port: 41000 }])
  const [old, now] = [flow('10.96.0.53', 53, '192.0.2.1', 40999), flow('10.96.0.53', 53, '192.0.2.1', 41000)]
  const [oldAtNode, other] = [flow('192.0.2.1', 30053, '192.0.2.1', 40999), flow('10.96.0.54', 53, '10.64.0.1', 53)]
  expect(selectStaleFlows(taken(udp), [old, now, oldAtNode, other])).toEqual([old, oldAtNode])
})

test('a port on all addresses is right on each of them', () => {
  const udp = new UdpPortals()
  udp.note(dns, [{ ip: '0.0.0.0', port: 41000 }])
  const flows = localIps.map((ip) => flow('10.96.0.53', 53, ip, 41000))
  expect(selectStaleFlows(taken(udp), flows)).toEqual([])
})

test('all flows of a Service that is gone are stale', () => {
  const udp = new UdpPortals()
  udp.note(dns, [{ ip: '192.0.2.1', port: 41000 }])
  udp.take(localIps)
  udp.forget(dns.key)
  const last = flow('10.96.0.53', 53, '192.0.2.1', 41000)
  expect(selectStaleFlows(taken(udp), [last])).toEqual([last])
})

test('there is nothing to look for when only endpoints have changed', () => {
  const udp = new UdpPortals()
  udp.note(dns, [{ ip: '192.0.2.1', port: 41000 }])
  expect(udp.take(localIps)).toBeDefined()
  udp.note({ ...dns, endpoints: [] }, [{ ip: '192.0.2.1', port: 41000 }])
  udp.forget(testRoute('shop/never-served').key)
  expect(udp.take(localIps)).toBeUndefined()
})

function taken(udp: UdpPortals): readonly FlowTargets[] {
  const targets = udp.take(localIps)
  if (targets === undefined) throw new Error('nothing to look for')
  return targets
}

/** A client's flow to a Service address that was led to a port of the node. */
function flow(ip: string, port: number, ledToIp: string, ledToPort: number): Flow {
  const client = { ip: '10.64.0.9', port: 5000 }
  return {
    protocol: 17,
    original: { sourceIp: client.ip, sourcePort: client.port, destinationIp: ip, destinationPort: port },
    reply: { sourceIp: ledToIp, sourcePort: ledToPort, destinationIp: client.ip, destinationPort: client.port },
  }
}
