import { expect, test } from 'vitest'
import type { Endpoint, Route } from '../route.ts'
import { flowTargetsOf, selectStaleFlows } from './stale-flows.ts'
import type { Flow } from './stale-flows.ts'
import { testEndpoint, testRoute } from '../testing/routes.ts'
import type { Wishes } from '../testing/routes.ts'

const dns: Wishes = {
  protocol: 'UDP',
  clusterIP: '10.96.0.10',
  port: 53,
  externalIPs: ['203.0.113.7'],
  loadBalancerIPs: ['198.51.100.9'],
  nodePort: 30053,
}

/** A flow from a client `to` an address, answered by `from`; both `ip:port`. */
function flow(to: string, from: string, protocol = 17): Flow {
  const client = { ip: '10.64.5.5', port: 40_000 }
  const [service, endpoint] = [address(to), address(from)]
  return {
    protocol,
    original: direction(client, service),
    reply: direction(endpoint, client),
  }
}

function staleOf(routes: readonly Route[], flows: Iterable<Flow>): readonly Flow[] {
  return selectStaleFlows(flowTargetsOf(routes), flows)
}

interface Address {
  readonly ip: string
  readonly port: number
}

function address(text: string): Address {
  const at = text.lastIndexOf(':')
  return { ip: text.slice(0, at).replace(/[[\]]/g, ''), port: Number(text.slice(at + 1)) }
}

function direction(source: Address, destination: Address): Flow['original'] {
  return {
    sourceIp: source.ip,
    sourcePort: source.port,
    destinationIp: destination.ip,
    destinationPort: destination.port,
  }
}

function isStale(to: string, from: string, endpoints: readonly Endpoint[], protocol = 17): boolean {
  return staleOf([testRoute('kube-system/dns', { ...dns, endpoints })], [flow(to, from, protocol)]).length > 0
}

const serving = [testEndpoint('10.64.0.2', 5353)]

for (const [what, to] of [
  ['cluster IP', '10.96.0.10:53'],
  ['external IP', '203.0.113.7:53'],
  ['load-balancer IP', '198.51.100.9:53'],
  ['node port', '192.0.2.1:30053'],
] as const) {
  test(`a flow to the ${what} stays while a serving endpoint answers it, and goes when somebody else does`, () => {
    expect(isStale(to, '10.64.0.2:5353', serving)).toBe(false)
    expect(isStale(to, '10.64.0.99:5353', serving)).toBe(true)
  })

  test(`a flow to the ${what} goes when the endpoint has another port now`, () => {
    expect(isStale(to, '10.64.0.2:53', serving)).toBe(true)
  })

  test(`a flow to the ${what} goes when its endpoint no longer serves`, () => {
    const endpoints = [...serving, testEndpoint('10.64.0.3', 5353, { ready: false, serving: false })]
    expect(isStale(to, '10.64.0.3:5353', endpoints)).toBe(true)
  })
}

test('TCP and SCTP flows are never touched', () => {
  expect(isStale('10.96.0.10:53', '10.64.0.99:5353', serving, 6)).toBe(false)
  expect(isStale('10.96.0.10:53', '10.64.0.99:5353', serving, 132)).toBe(false)
})

test('flows to a TCP Service port with the same address are not ours', () => {
  const tcp = testRoute('kube-system/dns', { ...dns, protocol: 'TCP', endpoints: serving })
  expect(staleOf([tcp], [flow('10.96.0.10:53', '10.64.0.99:5353')])).toEqual([])
})

test('flows to other ports of a Service address, or to other addresses, stay', () => {
  expect(isStale('10.96.0.10:54', '10.64.0.99:5353', serving)).toBe(false)
  expect(isStale('10.96.0.11:53', '10.64.0.99:5353', serving)).toBe(false)
})

test('each port of an address has its own endpoints', () => {
  const at = (port: number, ip: string) =>
    testRoute('kube-system/dns', {
      protocol: 'UDP',
      clusterIP: '10.96.0.10',
      port,
      endpoints: [testEndpoint(ip, 5353)],
    })
  const flows = [flow('10.96.0.10:53', '10.64.0.3:5353'), flow('10.96.0.10:54', '10.64.0.3:5353')]
  expect(staleOf([at(53, '10.64.0.2'), at(54, '10.64.0.3')], flows)).toEqual([flows[0]])
})

test('a Service without a node port has no flow elsewhere', () => {
  const route = testRoute('kube-system/dns', { ...dns, nodePort: undefined, endpoints: serving })
  expect(staleOf([route], [flow('8.8.8.8:0', '8.8.8.8:0')])).toEqual([])
})

test('a node port counts on any destination address', () => {
  expect(isStale('8.8.8.8:30053', '8.8.8.8:30053', serving)).toBe(true)
})

test('a flow that is right for its cluster IP goes when its port is the node port of another Service', () => {
  const other = testRoute('demo/clash', {
    protocol: 'UDP',
    clusterIP: '10.96.0.77',
    port: 30053,
    endpoints: [testEndpoint('10.64.7.7', 7000)],
  })
  const routes = [testRoute('kube-system/dns', { ...dns, endpoints: serving }), other]
  expect(staleOf(routes, [flow('10.96.0.77:30053', '10.64.7.7:7000')])).toHaveLength(1)
})

test('a flow begun while there was no endpoint goes once there is one', () => {
  expect(isStale('10.96.0.10:53', '10.96.0.10:53', serving)).toBe(true)
  expect(isStale('10.96.0.10:54', '10.96.0.10:54', serving)).toBe(false)
})

test('without a serving endpoint nothing is deleted', () => {
  expect(isStale('10.96.0.10:53', '10.64.0.2:5353', [])).toBe(false)
  const notServing = [testEndpoint('10.64.0.2', 5353, { ready: false, serving: false })]
  expect(isStale('10.96.0.10:53', '10.64.0.2:5353', notServing)).toBe(false)
})

test('a terminating endpoint that still serves keeps its flows', () => {
  const terminating = [testEndpoint('10.64.0.2', 5353, { ready: false, serving: true, terminating: true })]
  expect(isStale('10.96.0.10:53', '10.64.0.2:5353', [...terminating, ...serving])).toBe(false)
})

test('two Services that share an external address keep the flows of both', () => {
  const one = testRoute('demo/one', { ...dns, clusterIP: '10.96.0.1', nodePort: undefined, endpoints: serving })
  const two = testRoute('demo/two', {
    ...dns,
    clusterIP: '10.96.0.2',
    nodePort: undefined,
    endpoints: [testEndpoint('10.64.0.3', 53)],
  })
  const flows = ['10.64.0.2:5353', '10.64.0.3:53', '10.64.0.4:53'].map((from) => flow('203.0.113.7:53', from))
  expect(staleOf([one, two], flows)).toEqual([flows[2]])
})

test('IPv6 flows are compared with their brackets', () => {
  const route = testRoute('kube-system/dns', {
    protocol: 'UDP',
    family: 'ipv6',
    clusterIP: 'fd00::a',
    port: 53,
    endpoints: [testEndpoint('fd00:1::2', 5353)],
  })
  const flows = [flow('[fd00::a]:53', '[fd00:1::2]:5353'), flow('[fd00::a]:53', '[fd00:1::3]:5353')]
  expect(staleOf([route], flows)).toEqual([flows[1]])
})

test('one stale flow among a million is found alone', () => {
  function* flows(): Iterable<Flow> {
    for (let i = 0; i < 1_000_000; i++)
      yield i === 654_321
        ? flow('10.96.0.10:53', '10.64.0.99:5353')
        : flow(i % 2 === 0 ? '10.96.0.10:53' : '192.0.2.8:443', '10.64.0.2:5353', i % 3 === 0 ? 6 : 17)
  }
  const route = testRoute('kube-system/dns', { ...dns, endpoints: serving })
  expect(staleOf([route], flows())).toEqual([flow('10.96.0.10:53', '10.64.0.99:5353')])
})
