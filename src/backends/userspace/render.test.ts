import { expect, test } from 'vitest'
import { testEndpoint, testRoute, testView } from '../../core/testing/routes.ts'
import { planUserspace } from './plan.ts'
import { renderPlan } from './render.ts'

const view = testView(
  testRoute('shop/web:http', {
    clusterIP: '10.96.7.7',
    nodePort: 30080,
    loadBalancerIPs: ['203.0.113.4'],
    sourceRanges: ['192.0.2.0/24'],
    affinitySeconds: 10800,
    endpoints: [testEndpoint('10.64.0.1', 8080, { isLocal: true }), testEndpoint('10.64.1.1', 8080)],
    externalPolicy: 'Local',
  }),
  testRoute('shop/empty', { clusterIP: '10.96.7.8', port: 8080 }),
  testRoute('shop/signal', { protocol: 'SCTP' }),
)

test('a plan reads as one line per listener', () => {
  expect(renderPlan(planUserspace(view, { kind: 'service-addresses' }))).toBe(
    `shop/empty/TCP cluster-ip 10.96.7.8:8080 -> refuse
shop/signal/SCTP not served: the userspace mode does not support SCTP; use nftables, iptables or ipvs for this Service
shop/web:http/TCP cluster-ip 10.96.7.7:80 -> 10.64.0.1:8080 10.64.1.1:8080 (client affinity 10800 s)
shop/web:http/TCP load-balancer-ip 203.0.113.4:80 -> 10.64.0.1:8080 (client affinity 10800 s) (only from 192.0.2.0/24)
shop/web:http/TCP node-port 192.0.2.1:30080 -> 10.64.0.1:8080 (client affinity 10800 s)
`,
  )
})

test('on loopback it shows which ports are tried', () => {
  expect(renderPlan(planUserspace(view, { kind: 'loopback' }))).toBe(
    `shop/empty/TCP cluster-ip 127.0.0.1:8080 or any free port -> refuse
shop/signal/SCTP not served: the userspace mode does not support SCTP; use nftables, iptables or ipvs for this Service
shop/web:http/TCP cluster-ip 127.0.0.1:30080 or any free port -> 10.64.0.1:8080 10.64.1.1:8080 (client affinity 10800 s)
`,
  )
})
