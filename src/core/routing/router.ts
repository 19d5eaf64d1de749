/** Pure: a Service, its slices and this node become the Routes of one IP family. */
import type { Protocol, ServicePort, ServiceRecord, SliceRecord } from '../../api/records.ts'
import { cidrContains, familyOf, isLoopback, renderCidr } from '../../net/ip.ts'
import type { Family } from '../../net/ip.ts'
import type { EndpointFindings } from '../care/endpoint-care.ts'
import type { RefusedClaim } from './address-claims.ts'
import { categorize } from './categorize.ts'
import type { Categorized } from './categorize.ts'
import { entrancesOf, externalTreatment, internalTreatment, outcomeUnder } from './entrances.ts'
import { categorizeForKernelspace, kernelspaceEntrances } from './kernelspace-rules.ts'
import type { KernelspaceEndpoints } from './kernelspace-rules.ts'
import { grantedPortRange, grantedTraffic } from './mode-abilities.ts'
import { isCarrier, portsText, rangesCarriedBy } from './port-ranges.ts'
import type { Ports } from './port-ranges.ts'
import { endpointPortId, endpointsByPort } from './endpoints.ts'
import type { EndpointsByPort } from './endpoints.ts'
import { routeKey } from '../route.ts'
import type { AllowedSources, Endpoint, Route } from '../route.ts'
import type { ServingPolicy } from './serving-policy.ts'

export interface RouterContext {
  readonly family: Family
  readonly nodeName: string
  readonly zone: string
  /** This node's address of the family. */
  readonly nodeIP: string
  /** All that the Node object names, that one included; absent: it has no others. */
  readonly nodeIPs?: readonly string[]
  readonly policy: Omit<ServingPolicy, 'apiServers' | 'guard'>
}

const noEndpoints: readonly Endpoint[] = []
const noAddresses: readonly string[] = []

/** Entrances that were refused to the Service are left out of its Routes. */
export function routesOf(
  service: ServiceRecord,
  slices: Iterable<SliceRecord>,
  context: RouterContext,
  refused: readonly RefusedClaim[] = noneRefused,
  findings?: EndpointFindings,
): readonly Route[] {
  const { family, nodeName, policy } = context
  const clusterIP = service.clusterIPs[family]
  if (clusterIP === undefined) return []
  if (isLoopback(clusterIP) && !policy.allowLoopback) return []
  const endpoints = endpointsByPort(slices, family, nodeName, policy, service.traffic?.weights, findings)
  const places = {
    clusterIP,
    externalIPs: ofFamily(service.externalIPs, family),
    loadBalancerIPs: ofFamily(service.loadBalancerIPs, family),
    ranges: sourceRangesOf(service, context),
  }
  if (refused.length === 0) return service.ports.map((port) => routeOf(service, port, places, endpoints, context))
  // By place, not by kind: a Service may name one address both as external and as load-balancer IP.
  const refusedPlaces = new Set(refused.map((claim) => place(claim.protocol, claim, claim.ip)))
  return service.ports.flatMap((port) => {
    const isRefused = (ports: Ports, ip?: string) => refusedPlaces.has(place(port.protocol, ports, ip))
    if (isRefused({ port: port.port }, clusterIP)) return []
    const isGranted = (ip: string) => !isRefused({ port: port.port }, ip)
    const granted = {
      ...places,
      externalIPs: places.externalIPs.filter(isGranted),
      loadBalancerIPs: places.loadBalancerIPs.filter(isGranted),
      isRefused,
    }
    const nodePort = isRefused({ port: port.nodePort }) ? 0 : port.nodePort
    return [routeOf(service, { ...port, nodePort }, granted, endpoints, context)]
  })
}

/** A node port has no address of its own. */
function place(protocol: Protocol, ports: Ports, ip = 'this node'): string {
  return `${ip} ${protocol} ${portsText(ports)}`
}

const noneRefused: readonly RefusedClaim[] = []

/** What a Service may use of the addresses that it names. */
interface Addresses {
  readonly clusterIP: string
  readonly externalIPs: readonly string[]
  readonly loadBalancerIPs: readonly string[]
  readonly ranges: SourceRanges | undefined
  /** Absent where everything is granted. */
  readonly isRefused?: (ports: Ports, ip: string) => boolean
}

function routeOf(
  service: ServiceRecord,
  port: ServicePort,
  addresses: Addresses,
  endpointsOfService: EndpointsByPort,
  { family, nodeName, zone, nodeIP, nodeIPs = [nodeIP], policy }: RouterContext,
): Route {
  const { clusterIP, externalIPs, loadBalancerIPs } = addresses
  const { internalTrafficPolicy, externalTrafficPolicy } = service
  const isOpenToOutside = port.nodePort !== 0 || loadBalancerIPs.length > 0 || externalIPs.length > 0
  const isInternalLocal = internalTrafficPolicy === 'Local'
  const isExternalLocal = externalTrafficPolicy === 'Local' && isOpenToOutside
  const endpoints = endpointsOfService.get(endpointPortId(port.name, port.protocol)) ?? noEndpoints
  const isKernelspace = policy.endpointRules === 'kernelspace'
  const preserves = isKernelspace && isOpenToOutside && service.windows?.preservesDestination === true
  const wants = {
    clusterEndpoints: !isInternalLocal || isOpenToOutside,
    localEndpoints: isInternalLocal || isExternalLocal || preserves,
  }
  const place = { nodeName, zone }
  const chosen: Partial<KernelspaceEndpoints<Endpoint>> & Categorized<Endpoint> = isKernelspace
    ? categorizeForKernelspace(endpoints, wants, place, loadBalancerIPs.length > 0)
    : categorize(endpoints, wants, place)
  const { cluster, local, reachable, hasUsable, topology, isAvailable } = chosen
  const servers = { clusterEndpoints: cluster, localEndpoints: local, hasUsableEndpoint: hasUsable }
  const internal = internalTreatment(internalTrafficPolicy, servers)
  const external = isOpenToOutside ? externalTreatment(externalTrafficPolicy, servers) : undefined
  const places = {
    clusterIP,
    port: port.port,
    externalIPs: policy.allowExternalIPs ? externalIPs : noAddresses,
    loadBalancerIPs,
    allowed: allowedSources(addresses),
    nodePort: unlessZero(port.nodePort),
  }
  const entrances = entrancesOf(places, { internal, external })
  const range = grantedPortRange(service, policy.abilities)
  const ranges =
    range === undefined || !isCarrier(port, service.ports, range)
      ? undefined
      : rangesCarriedBy(
          port,
          entrances,
          service.ports,
          range,
          nodeIPs,
          (ip) => addresses.isRefused?.({ port: range.first, lastPort: range.last }, ip) === true,
        )
  return {
    key: routeKey(service.namespace, service.name, port.name, port.protocol),
    namespace: service.namespace,
    name: service.name,
    portName: port.name,
    protocol: port.protocol,
    family,
    clusterIP,
    port: port.port,
    entrances:
      isAvailable === undefined
        ? entrances
        : kernelspaceEntrances(entrances, isAvailable, preserves ? outcomeUnder('Local', servers) : undefined),
    ...(ranges !== undefined && { ranges }),
    internal,
    external,
    affinitySeconds: unlessZero(service.affinitySeconds),
    healthCheckNodePort: unlessZero(service.healthCheckNodePort),
    traffic: grantedTraffic(service, policy),
    relaying: service.relaying,
    sockets: service.sockets,
    windows: service.windows,
    endpoints,
    clusterEndpoints: cluster,
    localEndpoints: local,
    reachableEndpoints: reachable,
    hasUsableEndpoint: hasUsable,
    topology,
  }
}

function unlessZero(number: number): number | undefined {
  return number === 0 ? undefined : number
}

function ofFamily(ips: readonly string[], family: Family): readonly string[] {
  return ips.filter((ip) => familyOf(ip) === family)
}

interface SourceRanges {
  readonly cidrs: readonly string[]
  readonly coverNode: boolean
}

/**
 * A range that allows everybody lifts the restriction. Ranges of the other family alone say nothing about this one, so
 * kube-proxy leaves it open; one that cannot be read may have been of this family, so it does not.
 */
function sourceRangesOf(
  { sourceRanges: ranges, hasUnreadableSourceRange }: ServiceRecord,
  { family, nodeIP, policy }: RouterContext,
): SourceRanges | undefined {
  const own = ranges.filter((range) => range.family === family)
  const isRestricted =
    own.length > 0 || hasUnreadableSourceRange === true || (policy.strictSourceRanges && ranges.length > 0)
  if (!isRestricted || own.some((range) => range.prefixLength === 0)) return undefined
  return { cidrs: own.map(renderCidr), coverNode: own.some((range) => cidrContains(range, nodeIP)) }
}

function allowedSources({ ranges, loadBalancerIPs }: Addresses): AllowedSources | undefined {
  if (ranges === undefined) return undefined
  return { ranges: ranges.cidrs, ownAddresses: ranges.coverNode ? loadBalancerIPs : noAddresses }
}
