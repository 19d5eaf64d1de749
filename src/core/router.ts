/** Pure: a Service, its slices and this node become the Routes of one IP family. */
import type { ServicePort, ServiceRecord, SliceRecord } from '../api/records.ts'
import { cidrContains, familyOf, renderCidr } from '../net/ip.ts'
import type { Cidr, Family } from '../net/ip.ts'
import { categorize } from './categorize.ts'
import { endpointPortId, endpointsByPort } from './endpoints.ts'
import type { EndpointsByPort } from './endpoints.ts'
import { routeKey } from './route.ts'
import type { Endpoint, Route } from './route.ts'

export interface RouterContext {
  readonly family: Family
  readonly nodeName: string
  readonly zone: string
  /** This node's address of the family. */
  readonly nodeIP: string
  /** Feature gate AllowServiceExternalIPs: without it nobody can claim an address by writing it into a Service. */
  readonly allowExternalIPs: boolean
}

const noEndpoints: readonly Endpoint[] = []

export function routesOf(
  service: ServiceRecord,
  slices: Iterable<SliceRecord>,
  context: RouterContext,
): readonly Route[] {
  const clusterIP = service.clusterIPs[context.family]
  if (clusterIP === undefined || service.ports.length === 0) return []
  const endpoints = endpointsByPort(slices, context.family, context.nodeName)
  const externalIPs = ofFamily(service.externalIPs, context.family)
  const addresses = {
    clusterIP,
    externalIPs,
    loadBalancerIPs: ofFamily(service.loadBalancerIPs, context.family),
    ...sourceRanges(service.sourceRanges, context),
  }
  return service.ports.map((port) => routeOf(service, port, addresses, endpoints, context))
}

type Addresses = Pick<Route, 'clusterIP' | 'externalIPs' | 'loadBalancerIPs' | 'sourceRanges' | 'sourceRangesCoverNode'>

function routeOf(
  service: ServiceRecord,
  port: ServicePort,
  addresses: Addresses,
  endpointsOfService: EndpointsByPort,
  context: RouterContext,
): Route {
  const { family, nodeName, zone } = context
  const isExternallyAccessible =
    port.nodePort !== 0 || addresses.loadBalancerIPs.length > 0 || addresses.externalIPs.length > 0
  const isInternalLocal = service.internalTrafficPolicy === 'Local'
  const isExternalLocal = service.externalTrafficPolicy === 'Local'
  const endpoints = endpointsOfService.get(endpointPortId(port.name, port.protocol)) ?? noEndpoints
  const categorized = categorize(
    endpoints,
    {
      clusterEndpoints: !isInternalLocal || isExternallyAccessible,
      localEndpoints: isInternalLocal || (isExternalLocal && isExternallyAccessible),
    },
    { nodeName, zone },
  )
  return {
    key: routeKey(service.namespace, service.name, port.name, port.protocol),
    namespace: service.namespace,
    name: service.name,
    portName: port.name,
    protocol: port.protocol,
    family,
    clusterIP: addresses.clusterIP,
    port: port.port,
    nodePort: port.nodePort,
    externalIPs: context.allowExternalIPs ? addresses.externalIPs : [],
    loadBalancerIPs: addresses.loadBalancerIPs,
    sourceRanges: addresses.sourceRanges,
    sourceRangesCoverNode: addresses.sourceRangesCoverNode,
    affinitySeconds: service.affinitySeconds,
    internalPolicy: service.internalTrafficPolicy,
    externalPolicy: service.externalTrafficPolicy,
    isExternallyAccessible,
    healthCheckNodePort: service.healthCheckNodePort,
    ...(service.relaying !== undefined && { relaying: service.relaying }),
    endpoints,
    clusterEndpoints: categorized.cluster,
    localEndpoints: categorized.local,
    reachableEndpoints: categorized.reachable,
    hasUsableEndpoint: categorized.hasUsable,
    topology: categorized.topology,
  }
}

function ofFamily(ips: readonly string[], family: Family): readonly string[] {
  return ips.filter((ip) => familyOf(ip) === family)
}

/** A range that allows everybody lifts the restriction; ranges of the other family say nothing about this one. */
function sourceRanges(
  ranges: readonly Cidr[],
  context: RouterContext,
): Pick<Route, 'sourceRanges' | 'sourceRangesCoverNode'> {
  const own = ranges.filter((range) => range.family === context.family)
  if (own.some((range) => range.prefixLength === 0)) return { sourceRanges: [], sourceRangesCoverNode: false }
  return {
    sourceRanges: own.map(renderCidr),
    sourceRangesCoverNode: own.some((range) => cidrContains(range, context.nodeIP)),
  }
}
