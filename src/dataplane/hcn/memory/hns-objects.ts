/** What an HNS in memory holds, and how it tells of it: without what is zero. */
import type { HcnEndpoint, HcnNetwork, LoadBalancer } from '../hcn.ts'
import { loadBalancerFlags } from '../hcn.ts'

export interface StoredNetwork extends HcnNetwork {
  readonly subnets: readonly string[]
  readonly gateways: readonly string[]
}

export type StoredEndpoint = HcnEndpoint

export interface StoredLoadBalancer extends LoadBalancer {
  /** HNS can no longer forward with it. */
  readonly isDegraded: boolean
  /** It has no port mapping. */
  readonly isHalf: boolean
  readonly canBeDeleted: boolean
}

const schemaVersion = { Major: 2, Minor: 0 }

export function networkProperties(network: StoredNetwork): object {
  const routes = network.remoteSubnets.map((subnet) => ({
    Type: 'RemoteSubnetRoute',
    Settings: {
      DestinationPrefix: subnet.prefix,
      IsolationId: subnet.isolationId || undefined,
      ProviderAddress: subnet.providerAddress,
      DistributedRouterMacAddress: subnet.routerMac,
    },
  }))
  return {
    ID: network.id,
    Name: network.name,
    Type: network.type === 'NAT' ? undefined : network.type,
    Policies: someOf([...routes, { Type: 'HostRoute', Settings: {} }]),
    Ipams: [{ Type: 'Static', Subnets: network.subnets.map((prefix) => ({ IpAddressPrefix: prefix })) }],
    SchemaVersion: schemaVersion,
  }
}

export function endpointProperties(endpoint: StoredEndpoint): object {
  const provider = { Type: 'ProviderAddress', Settings: { ProviderAddress: endpoint.providerAddress } }
  return {
    ID: endpoint.id,
    Name: endpoint.name || undefined,
    HostComputeNetwork: endpoint.networkId,
    Policies: endpoint.providerAddress === undefined ? undefined : [provider],
    IpConfigurations: someOf(endpoint.ips.map((ip) => ({ IpAddress: ip, PrefixLength: ip.includes(':') ? 64 : 24 }))),
    MacAddress: endpoint.mac || undefined,
    Flags: endpoint.isRemote ? 1 : undefined,
    SchemaVersion: schemaVersion,
  }
}

export function loadBalancerProperties(balancer: StoredLoadBalancer): object {
  const mapping = {
    Protocol: balancer.protocol || undefined,
    InternalPort: balancer.internalPort || undefined,
    ExternalPort: balancer.externalPort || undefined,
    DistributionType: balancer.isSticky ? 2 : undefined,
    Flags: balancer.mappingFlags || undefined,
  }
  return {
    ID: balancer.id,
    HostComputeEndpoints: someOf(balancer.endpoints),
    SourceVIP: balancer.sourceVip,
    FrontendVIPs: balancer.vip === undefined ? undefined : [balancer.vip],
    PortMappings: balancer.isHalf ? undefined : [mapping],
    SchemaVersion: schemaVersion,
    Flags: balancer.flags || undefined,
  }
}

/** The same in the words of the old API. */
export function policyList(balancer: StoredLoadBalancer): object {
  const [ready, degraded] = [2, 4]
  const policy = {
    Type: 'ELB',
    Protocol: balancer.protocol,
    InternalPort: balancer.internalPort,
    ExternalPort: balancer.externalPort,
    VIPs: balancer.vip === undefined ? undefined : [balancer.vip],
    SourceVIP: balancer.sourceVip,
    IsDSR: (balancer.flags & loadBalancerFlags.dsr) === 0 ? undefined : true,
  }
  return {
    ID: balancer.id,
    References: balancer.endpoints.map((id) => `/endpoints/${id}`),
    Policies: balancer.isHalf ? [] : [policy],
    State: balancer.isDegraded ? degraded : ready,
  }
}

function someOf<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length === 0 ? undefined : list
}
