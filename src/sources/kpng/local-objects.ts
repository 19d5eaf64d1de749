/**
 * What a KPNG server says about this node, as the Kubernetes objects that would make our own router come to the same
 * result. So it passes the same door as objects from an API server, and all that follows knows nothing of KPNG.
 */
import type { JsonObject } from '../../api/json-reader.ts'
import type { Family } from '../../net/ip.ts'
import { families } from '../../net/ip.ts'
import { endpointPort } from '../../kpng/client/endpoint-port.ts'
import type { ServiceWithEndpoints } from '../../kpng/client/local-state.ts'
import { Protocol } from '../../kpng/proto/generated/localv1/api.ts'
import type { Endpoint, IPSet, Service } from '../../kpng/proto/generated/localv1/api.ts'
import { xxh64 } from '../../kpng/wire/xxh64.ts'

export function serviceObject(service: Service): JsonObject {
  const clusterIPs = ipsOf(service.IPs?.ClusterIPs)
  const { ClientIP } = { ClientIP: service.SessionAffinity?.value }
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace: service.Namespace, name: service.Name },
    spec: {
      type: service.Type,
      clusterIP: service.IPs?.Headless === true ? 'None' : clusterIPs[0]?.ip,
      clusterIPs: clusterIPs.map(({ ip }) => ip),
      ipFamilies: clusterIPs.map(({ family }) => (family === 'ipv4' ? 'IPv4' : 'IPv6')),
      externalIPs: ipsOf(service.IPs?.ExternalIPs).map(({ ip }) => ip),
      ports: service.Ports.map(({ Name, Protocol: protocol, Port, NodePort }) => ({
        name: Name,
        protocol: protocolName(protocol),
        port: Port,
        nodePort: NodePort,
      })),
      externalTrafficPolicy: service.ExternalTrafficToLocal ? 'Local' : 'Cluster',
      internalTrafficPolicy: service.InternalTrafficToLocal ? 'Local' : 'Cluster',
      healthCheckNodePort: service.HealthCheckNodePort,
      loadBalancerSourceRanges: service.IPFilters.flatMap(({ SourceRanges }) => SourceRanges),
      ...(ClientIP !== undefined && {
        sessionAffinity: 'ClientIP',
        sessionAffinityConfig: { clientIP: { timeoutSeconds: ClientIP.TimeoutSeconds } },
      }),
    },
    status: { loadBalancer: { ingress: ipsOf(service.IPs?.LoadBalancerIPs).map(({ ip }) => ({ ip })) } },
  }
}

export function serviceCidrObject(cidrs: readonly string[]): JsonObject {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'ServiceCIDR',
    metadata: { name: 'kubernetes' },
    spec: { cidrs },
    status: { conditions: [{ type: 'Ready', status: 'True' }] },
  }
}

/** One slice for each family and set of ports. */
export function sliceObjects({ service, endpointsByKey }: ServiceWithEndpoints, nodeName: string): JsonObject[] {
  return families.flatMap((family) => familySlices(service, [...endpointsByKey.values()], family, nodeName))
}

function familySlices(
  service: Service,
  endpoints: readonly Endpoint[],
  family: Family,
  nodeName: string,
): readonly JsonObject[] {
  const ofFamily = endpoints.filter((endpoint) => addressesOf(endpoint, family).length > 0)
  const needsHints = ofFamily.some((endpoint) => !servesWholeCluster(service, endpoint))
  const byPorts = new Map<string, { readonly ports: readonly JsonObject[]; readonly endpoints: JsonObject[] }>()
  for (const endpoint of ofFamily) {
    const ports = portsOf(service, endpoint)
    const id = JSON.stringify(ports)
    let slice = byPorts.get(id)
    if (slice === undefined) byPorts.set(id, (slice = { ports, endpoints: [] }))
    const hints = needsHints ? { hints: hintsFor(servesWholeCluster(service, endpoint) ? nodeName : nobody) } : {}
    for (const ip of addressesOf(endpoint, family))
      slice.endpoints.push({
        addresses: [ip],
        conditions: { ready: true },
        ...(endpoint.Local && { nodeName }),
        ...hints,
      })
  }
  return [...byPorts].map(([id, slice]) => ({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      namespace: service.Namespace,
      name: `${service.Name}-${family}-${xxh64(Buffer.from(id)).toString(16)}`,
      labels: { 'kubernetes.io/service-name': service.Name },
    },
    addressType: family === 'ipv4' ? 'IPv4' : 'IPv6',
    ...slice,
  }))
}

/**
 * Whether traffic with policy Cluster may use the endpoint. A local one that may not (topology keeps it for external
 * traffic, or it is shutting down) is told apart by hints: that is how a slice says "ready, but not for you". With both
 * policies Local, the external scope tells: Fairlead's servers put it there for us, and others send local ones only.
 */
function servesWholeCluster(service: Service, { Scopes: scopes }: Endpoint): boolean {
  if (scopes === undefined) return true
  return service.InternalTrafficToLocal ? scopes.External : scopes.Internal
}

/** No node can have this name. */
const nobody = '-'

function hintsFor(node: string): JsonObject {
  return { forNodes: [{ name: node }] }
}

function portsOf(service: Service, endpoint: Endpoint): readonly JsonObject[] {
  return service.Ports.flatMap((port) => {
    const number = endpointPort(endpoint, port)
    return number === undefined
      ? []
      : [{ name: port.Name, protocol: protocolName(port.Protocol), port: number } satisfies JsonObject]
  })
}

function protocolName(protocol: Protocol): string {
  return Object.entries(Protocol).find(([, number]) => number === protocol)?.[0] ?? String(protocol)
}

function addressesOf({ IPs }: Endpoint, family: Family): readonly string[] {
  return (family === 'ipv4' ? IPs?.V4 : IPs?.V6) ?? []
}

function ipsOf(set: IPSet | undefined): readonly { readonly family: Family; readonly ip: string }[] {
  return [
    ...(set?.V4 ?? []).map((ip) => ({ family: 'ipv4', ip }) as const),
    ...(set?.V6 ?? []).map((ip) => ({ family: 'ipv6', ip }) as const),
  ]
}
