/** What a backend of your own sees: plain data with Kubernetes' names. */
import type { ServiceWithEndpoints } from '../client/local-state.ts'
import { endpointPort } from '../client/endpoint-port.ts'
import type { Endpoint, IPSet, PortMapping } from '../proto/generated/localv1/api.ts'
import { protocolName } from '../wire/protocol-name.ts'

/** `namespace/name`. */
export type ServiceId = string

export interface NodeService {
  readonly id: ServiceId
  readonly namespace: string
  readonly name: string
  /** `ClusterIP`, `NodePort`, `LoadBalancer` or `ExternalName`. */
  readonly type: string
  readonly isHeadless: boolean
  /** Addresses of both families. */
  readonly clusterIPs: readonly string[]
  readonly externalIPs: readonly string[]
  readonly loadBalancerIPs: readonly string[]
  readonly ports: readonly NodeServicePort[]
  /** CIDRs that may use the load-balancer IPs; if empty, everybody may. */
  readonly sourceRanges: readonly string[]
  readonly internalPolicy: 'Cluster' | 'Local'
  readonly externalPolicy: 'Cluster' | 'Local'
  /** Seconds of client-IP affinity; 0 when there is none. */
  readonly affinitySeconds: number
  /** 0 when there is none. */
  readonly healthCheckNodePort: number
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  /** Only endpoints that this node may use. */
  readonly endpoints: readonly NodeEndpoint[]
}

export interface NodeServicePort {
  readonly name: string
  readonly protocol: 'TCP' | 'UDP' | 'SCTP'
  readonly port: number
  /** 0 when there is none. */
  readonly nodePort: number
}

export interface NodeEndpoint {
  /** Unique within its Service. */
  readonly id: string
  readonly ips: readonly string[]
  /** On this node. */
  readonly isLocal: boolean
  /** Traffic to the cluster IP may use it. */
  readonly servesInternal: boolean
  /** Traffic from outside may use it. */
  readonly servesExternal: boolean
  readonly hostname: string
  /** In the order of the Service's ports; 0 where the endpoint does not serve the port. */
  readonly ports: readonly number[]
}

export function nodeService(id: ServiceId, { service, endpointsByKey }: ServiceWithEndpoints): NodeService {
  const { IPs } = service
  const ports = service.Ports.filter((port) => protocolName(port.Protocol) !== undefined)
  return {
    id,
    namespace: service.Namespace,
    name: service.Name,
    type: service.Type,
    isHeadless: IPs?.Headless ?? false,
    clusterIPs: ipsOf(IPs?.ClusterIPs),
    externalIPs: ipsOf(IPs?.ExternalIPs),
    loadBalancerIPs: ipsOf(IPs?.LoadBalancerIPs),
    ports: ports.map((port) => ({
      name: port.Name,
      protocol: protocolName(port.Protocol) ?? 'TCP',
      port: port.Port,
      nodePort: port.NodePort,
    })),
    sourceRanges: service.IPFilters.flatMap(({ SourceRanges }) => SourceRanges),
    internalPolicy: service.InternalTrafficToLocal ? 'Local' : 'Cluster',
    externalPolicy: service.ExternalTrafficToLocal ? 'Local' : 'Cluster',
    affinitySeconds: service.SessionAffinity?.value.TimeoutSeconds ?? 0,
    healthCheckNodePort: service.HealthCheckNodePort,
    labels: service.Labels,
    annotations: service.Annotations,
    endpoints: [...endpointsByKey].map(([key, endpoint]) => nodeEndpoint(key, endpoint, ports)),
  }
}

function nodeEndpoint(id: string, endpoint: Endpoint, ports: readonly PortMapping[]): NodeEndpoint {
  return {
    id,
    ips: ipsOf(endpoint.IPs),
    isLocal: endpoint.Local,
    // Servers before August 2022 do not send it.
    servesInternal: endpoint.Scopes?.Internal ?? true,
    servesExternal: endpoint.Scopes?.External ?? true,
    hostname: endpoint.Hostname,
    ports: ports.map((port) => endpointPort(endpoint, port) ?? 0),
  }
}

function ipsOf(set: IPSet | undefined): readonly string[] {
  return [...(set?.V4 ?? []), ...(set?.V6 ?? [])]
}
