/** Routes for tests, with only what the test is about spelled out. */
import { hostPort } from '../../net/ip.ts'
import type { NodeView } from '../backend.ts'
import { routeKey } from '../route.ts'
import type { Endpoint, Route } from '../route.ts'

export function testEndpoint(ip: string, port: number, overrides: Partial<Endpoint> = {}): Endpoint {
  return {
    ip,
    port,
    address: hostPort(ip, port),
    nodeName: '',
    isLocal: false,
    ready: true,
    serving: true,
    terminating: false,
    zoneHints: [],
    nodeHints: [],
    ...overrides,
  }
}

/** `name` is `namespace/name` or `namespace/name:port`. */
export function testRoute(name: string, overrides: Partial<Omit<Route, 'key' | 'namespace' | 'name'>> = {}): Route {
  const [, namespace = '', service = '', portName = ''] = /^([^/]+)\/([^:]+):?(.*)$/.exec(name) ?? []
  const { protocol = 'TCP', endpoints = [] } = overrides
  const ready = endpoints.filter((endpoint) => endpoint.ready)
  return {
    key: routeKey(namespace, service, portName, protocol),
    namespace,
    name: service,
    portName,
    protocol,
    family: 'ipv4',
    clusterIP: '10.96.0.10',
    port: 80,
    nodePort: 0,
    externalIPs: [],
    loadBalancerIPs: [],
    sourceRanges: undefined,
    sourceRangesCoverNode: false,
    affinitySeconds: 0,
    internalPolicy: 'Cluster',
    externalPolicy: 'Cluster',
    isExternallyAccessible: false,
    healthCheckNodePort: 0,
    endpoints,
    clusterEndpoints: ready,
    localEndpoints: ready.filter((endpoint) => endpoint.isLocal),
    reachableEndpoints: ready,
    hasUsableEndpoint: ready.length > 0,
    topology: 'none',
    ...overrides,
  }
}

export function testView(...routes: readonly Route[]): NodeView {
  return {
    family: 'ipv4',
    node: { name: 'this-node', zone: '', ip: '192.0.2.1' },
    routesByKey: new Map(routes.map((route) => [route.key, route])),
    serviceCidrs: [],
  }
}
