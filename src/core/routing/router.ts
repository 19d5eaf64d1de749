/** Pure: a Service, its slices and this node become the Routes of one IP family. */
import type { Protocol, ServicePort, ServiceRecord, SliceRecord } from '../../api/records.ts'
import { cidrContains, familyOf, isLoopback, renderCidr } from '../../net/ip.ts'
import type { Family } from '../../net/ip.ts'
import { addressKey } from './address-claims.ts'
import type { RefusedClaim } from './address-claims.ts'
import { categorize } from './categorize.ts'
import { entrancesOf, externalTreatment, internalTreatment } from './entrances.ts'
import { endpointPortId, endpointsByPort } from './endpoints.ts'
import type { EndpointsByPort } from './endpoints.ts'
import { routeKey } from '../route.ts'
import type { Endpoint, Route } from '../route.ts'
import type { ServingPolicy } from './serving-policy.ts'

export interface RouterContext {
  readonly family: Family
  readonly nodeName: string
  readonly zone: string
  /** This node's address of the family. */
  readonly nodeIP: string
  readonly policy: Omit<ServingPolicy, 'apiServers'>
}

const noEndpoints: readonly Endpoint[] = []
const noAddresses: readonly string[] = []

/** Entrances that were refused to the Service are left out of its Routes. */
export function routesOf(
  service: ServiceRecord,
  slices: Iterable<SliceRecord>,
  context: RouterContext,
  refused: readonly RefusedClaim[] = noneRefused,
): readonly Route[] {
  const { family, nodeName, policy } = context
  const clusterIP = service.clusterIPs[family]
  if (clusterIP === undefined) return []
  if (isLoopback(clusterIP) && !policy.allowLoopback) return []
  const endpoints = endpointsByPort(slices, family, nodeName, policy)
  const addresses = {
    clusterIP,
    externalIPs: ofFamily(service.externalIPs, family),
    loadBalancerIPs: ofFamily(service.loadBalancerIPs, family),
    ...sourceRangesOf(service, context),
  }
  if (refused.length === 0) return service.ports.map((port) => routeOf(service, port, addresses, endpoints, context))
  // By place, not by kind: a Service may name one address both as external and as load-balancer IP.
  const refusedPlaces = new Set(refused.map(({ protocol, port, ip }) => place(protocol, port, ip)))
  return service.ports.flatMap((port) => {
    const isRefused = (number: number, ip?: string) => refusedPlaces.has(place(port.protocol, number, ip))
    if (isRefused(port.port, clusterIP)) return []
    const isGranted = (ip: string) => !isRefused(port.port, ip)
    const granted = {
      ...addresses,
      externalIPs: addresses.externalIPs.filter(isGranted),
      loadBalancerIPs: addresses.loadBalancerIPs.filter(isGranted),
    }
    const nodePort = isRefused(port.nodePort) ? 0 : port.nodePort
    return [routeOf(service, { ...port, nodePort }, granted, endpoints, context)]
  })
}

/** A node port has no address of its own. */
function place(protocol: Protocol, port: number, ip = 'this node'): string {
  return addressKey(ip, protocol, port)
}

const noneRefused: readonly RefusedClaim[] = []

type Addresses = Pick<Route, 'clusterIP' | 'externalIPs' | 'loadBalancerIPs' | 'sourceRanges' | 'sourceRangesCoverNode'>

function routeOf(
  service: ServiceRecord,
  port: ServicePort,
  addresses: Addresses,
  endpointsOfService: EndpointsByPort,
  context: RouterContext,
): Route {
  const { family, nodeName, zone, policy } = context
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
  const { clusterIP, loadBalancerIPs, sourceRanges, sourceRangesCoverNode } = addresses
  const externalIPs = policy.allowExternalIPs ? addresses.externalIPs : noAddresses
  const servers = {
    clusterEndpoints: categorized.cluster,
    localEndpoints: categorized.local,
    hasUsableEndpoint: categorized.hasUsable,
  }
  const treatments = {
    internal: internalTreatment(service.internalTrafficPolicy, servers),
    external: isExternallyAccessible ? externalTreatment(service.externalTrafficPolicy, servers) : undefined,
  }
  return {
    key: routeKey(service.namespace, service.name, port.name, port.protocol),
    namespace: service.namespace,
    name: service.name,
    portName: port.name,
    protocol: port.protocol,
    family,
    clusterIP,
    port: port.port,
    entrances: entrancesOf(
      {
        clusterIP,
        port: port.port,
        externalIPs,
        loadBalancerIPs,
        allowed: sourceRanges && {
          ranges: sourceRanges,
          ownAddresses: sourceRangesCoverNode ? loadBalancerIPs : noAddresses,
        },
        nodePort: port.nodePort === 0 ? undefined : port.nodePort,
      },
      treatments,
    ),
    ...treatments,
    nodePort: port.nodePort,
    externalIPs,
    loadBalancerIPs,
    sourceRanges,
    sourceRangesCoverNode,
    affinitySeconds: service.affinitySeconds,
    internalPolicy: service.internalTrafficPolicy,
    externalPolicy: service.externalTrafficPolicy,
    isExternallyAccessible,
    healthCheckNodePort: service.healthCheckNodePort,
    ...(service.relaying !== undefined && { relaying: service.relaying }),
    endpoints,
    ...servers,
    reachableEndpoints: categorized.reachable,
    topology: categorized.topology,
  }
}

function ofFamily(ips: readonly string[], family: Family): readonly string[] {
  return ips.filter((ip) => familyOf(ip) === family)
}

/**
 * A range that allows everybody lifts the restriction. Ranges of the other family alone say nothing about this one, so
 * kube-proxy leaves it open; one that cannot be read may have been of this family, so it does not.
 */
function sourceRangesOf(
  { sourceRanges: ranges, hasUnreadableSourceRange }: ServiceRecord,
  { family, nodeIP, policy }: RouterContext,
): Pick<Route, 'sourceRanges' | 'sourceRangesCoverNode'> {
  const own = ranges.filter((range) => range.family === family)
  const isRestricted =
    own.length > 0 || hasUnreadableSourceRange === true || (policy.strictSourceRanges && ranges.length > 0)
  if (!isRestricted || own.some((range) => range.prefixLength === 0))
    return { sourceRanges: undefined, sourceRangesCoverNode: false }
  return {
    sourceRanges: own.map(renderCidr),
    sourceRangesCoverNode: own.some((range) => cidrContains(range, nodeIP)),
  }
}
