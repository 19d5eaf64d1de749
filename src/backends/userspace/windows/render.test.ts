import { expect, test } from 'vitest'
import { testEndpoint, testRoute, testView } from '../../../core/testing/routes.ts'
import { renderWindows } from './render.ts'

test('the netsh lines and the listeners of a node', () => {
  const endpoints = [testEndpoint('10.64.0.1', 8080), testEndpoint('10.64.1.1', 8080)]
  const web = testRoute('shop/web', {
    clusterIP: '10.96.0.10',
    nodePort: 30_080,
    loadBalancerIPs: ['203.0.113.5'],
    sourceRanges: ['198.51.100.0/24'],
    affinitySeconds: 60,
    endpoints,
  })
  const dns = testRoute('kube-system/dns', { clusterIP: '10.96.0.2', port: 53, protocol: 'UDP' })
  const sctp = testRoute('shop/signal', { clusterIP: '10.96.0.3', protocol: 'SCTP' })
  const interfaceName = 'vEthernet (HNS Internal NIC)'
  const { addresses, listeners } = renderWindows(testView(web, dns, sctp), { interfaceName, nodePortIps: undefined })
  const rest = 'mask=255.255.255.255 store=active skipassource=true'
  expect(addresses)
    .toBe(`netsh interface ipv4 add address "name=vEthernet (HNS Internal NIC)" address=10.96.0.10 ${rest}
netsh interface ipv4 add address "name=vEthernet (HNS Internal NIC)" address=10.96.0.2 ${rest}
netsh interface ipv4 add address "name=vEthernet (HNS Internal NIC)" address=203.0.113.5 ${rest}
`)
  expect(listeners).toBe(`# kube-system/dns/UDP cluster-ip 10.96.0.2:53 -> nobody
# shop/signal/SCTP not served: the userspace mode does not support SCTP
# shop/web/TCP cluster-ip 10.96.0.10:80 -> 10.64.0.1:8080 10.64.1.1:8080 (client affinity 60 s)
# shop/web/TCP load-balancer-ip 203.0.113.5:80 -> 10.64.0.1:8080 10.64.1.1:8080 (only from 198.51.100.0/24; client affinity 60 s)
# shop/web/TCP node-port 0.0.0.0:30080 -> 10.64.0.1:8080 10.64.1.1:8080 (client affinity 60 s)
`)
})

test('node ports that are open on some addresses only', () => {
  const web = testRoute('shop/web', { nodePort: 30_080 })
  const { listeners } = renderWindows(testView(web), { interfaceName: 'x', nodePortIps: ['192.0.2.1', '192.0.2.2'] })
  expect(listeners.match(/node-port \S+/g)).toEqual(['node-port 192.0.2.1:30080', 'node-port 192.0.2.2:30080'])
})
