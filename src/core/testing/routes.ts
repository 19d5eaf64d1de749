/** Routes for tests, with only what the test is about spelled out. */
import type { TrafficPolicy } from '../../api/records.ts'
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
    weight: 1,
    ...overrides,
  }
}

type Derived = 'key' | 'namespace' | 'name' | 'entrances' | 'internal' | 'external'

/** What a Service asks for, and what is known of its endpoints. */
export interface Wishes extends Partial<Omit<Route, Derived>> {
  readonly nodePort?: number | undefined
  readonly externalIPs?: readonly string[]
  readonly loadBalancerIPs?: readonly string[]
  readonly sourceRanges?: readonly string[] | undefined
  readonly sourceRangesCoverNode?: boolean
  readonly internalPolicy?: TrafficPolicy
  readonly externalPolicy?: TrafficPolicy
  /** A feature gate hides its external IPs. */
  readonly hasHiddenEntrance?: boolean
}

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

function routeOf(name: string, wishes: Wishes): Route {
  const [, namespace = '', service = '', portName = ''] = /^([^/]+)\/([^:]+):?(.*)$/.exec(name) ?? []
  const {
    nodePort,
    externalIPs = [],
    loadBalancerIPs = [],
    sourceRanges,
    sourceRangesCoverNode = false,
    internalPolicy = 'Cluster',
    externalPolicy = 'Cluster',
    hasHiddenEntrance = false,
    ...rest
  } = wishes
  const { protocol = 'TCP', endpoints = [] } = rest
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
    affinitySeconds: undefined,
    healthCheckNodePort: undefined,
    traffic: undefined,
    relaying: undefined,
    sockets: undefined,
    windows: undefined,
    endpoints,
    clusterEndpoints: ready,
    localEndpoints: ready.filter((endpoint) => endpoint.isLocal),
    reachableEndpoints: ready,
    hasUsableEndpoint: ready.length > 0,
    topology: 'none' as const,
    ...rest,
  }
  const isExternal = nodePort !== undefined || externalIPs.length > 0 || loadBalancerIPs.length > 0 || hasHiddenEntrance
  const treatments = {
    internal: internalTreatment(internalPolicy, route),
    external: isExternal ? externalTreatment(externalPolicy, route) : undefined,
  }
  const allowed = sourceRanges && {
    ranges: sourceRanges,
    ownAddresses: sourceRangesCoverNode ? loadBalancerIPs : [],
  }
  const places = { clusterIP: route.clusterIP, port: route.port, externalIPs, loadBalancerIPs, allowed, nodePort }
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
