/** Routes for tests, with only what the test is about spelled out. */
import { hostPort } from '../../net/ip.ts'
import type { NodeView } from '../backend.ts'
import { routeKey } from '../route.ts'
import type { AddressEntrance, Endpoint, Route } from '../route.ts'
import { entrancesOf, externalTreatment, internalTreatment } from '../routing/entrances.ts'

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

type Wishes = Partial<Omit<Route, 'key' | 'namespace' | 'name' | 'entrances' | 'internal' | 'external'>>

const origins = new WeakMap<Route, { readonly name: string; readonly wishes: Wishes }>()

/** `name` is `namespace/name` or `namespace/name:port`. */
export function testRoute(name: string, wishes: Wishes = {}): Route {
  const route = routeOf(name, wishes)
  origins.set(route, { name, wishes })
  return route
}

/** The route of a Service that asks for something else as well, or instead. */
export function withWishes(route: Route, wishes: Wishes): Route {
  const origin = origins.get(route)
  if (origin === undefined) throw new Error('only routes that were made by testRoute can be changed')
  return testRoute(origin.name, { ...origin.wishes, ...wishes })
}

function routeOf(name: string, overrides: Wishes): Route {
  const [, namespace = '', service = '', portName = ''] = /^([^/]+)\/([^:]+):?(.*)$/.exec(name) ?? []
  const { protocol = 'TCP', endpoints = [] } = overrides
  const ready = endpoints.filter((endpoint) => endpoint.ready)
  const route = {
    key: routeKey(namespace, service, portName, protocol),
    namespace,
    name: service,
    portName,
    protocol,
    family: 'ipv4' as const,
    clusterIP: '10.96.0.10',
    port: 80,
    nodePort: 0,
    externalIPs: [],
    loadBalancerIPs: [],
    sourceRanges: undefined,
    sourceRangesCoverNode: false,
    affinitySeconds: 0,
    internalPolicy: 'Cluster' as const,
    externalPolicy: 'Cluster' as const,
    isExternallyAccessible: false,
    healthCheckNodePort: 0,
    endpoints,
    clusterEndpoints: ready,
    localEndpoints: ready.filter((endpoint) => endpoint.isLocal),
    reachableEndpoints: ready,
    hasUsableEndpoint: ready.length > 0,
    topology: 'none' as const,
    ...overrides,
  }
  const { sourceRanges, sourceRangesCoverNode, loadBalancerIPs, externalIPs, nodePort } = route
  const isExternal =
    nodePort !== 0 || externalIPs.length > 0 || loadBalancerIPs.length > 0 || route.isExternallyAccessible
  const treatments = {
    internal: internalTreatment(route.internalPolicy, route),
    external: isExternal ? externalTreatment(route.externalPolicy, route) : undefined,
  }
  const allowed = sourceRanges && {
    ranges: sourceRanges,
    ownAddresses: sourceRangesCoverNode ? loadBalancerIPs : [],
  }
  const places = { ...route, allowed, nodePort: nodePort === 0 ? undefined : nodePort }
  return { ...route, ...treatments, entrances: entrancesOf(places, treatments) }
}

/** The addresses that the route has by way of such entrances. */
export function addressesOf(route: Route | undefined, kind: AddressEntrance['kind']): readonly string[] {
  return (route?.entrances ?? []).flatMap((entrance) => (entrance.kind === kind ? [entrance.ip] : []))
}

export function nodePortOf(route: Route | undefined): number | undefined {
  return route?.entrances.find(({ kind }) => kind === 'node-port')?.port
}

export function testView(...routes: readonly Route[]): NodeView {
  return {
    family: 'ipv4',
    node: { name: 'this-node', zone: '', ip: '192.0.2.1' },
    routesByKey: new Map(routes.map((route) => [route.key, route])),
    serviceCidrs: [],
  }
}
