/** The documents that HNS is sent. Members are in the order of kube-proxy's, and zero values are left out, as there. */
import { renderGoJson } from './go-json.ts'
import type { EndpointSettings, LoadBalancerSettings } from './hcn.ts'

const schemaVersion = { Major: 2, Minor: 0 } as const
const remoteEndpoint = 1
const bySourceIp = 2

/**
 * The old name of the network is used by endpoints (`VirtualNetwork`): HNS does not translate `HostComputeNetwork`
 * in a filter.
 */
export type QueryFilter =
  { readonly Name: string } | { readonly ID: string } | { readonly VirtualNetwork: string } | undefined

/** The filter is a text that holds JSON. */
export function renderQuery(filter?: QueryFilter): string {
  return renderGoJson({ SchemaVersion: schemaVersion, Filter: filter && renderGoJson(filter) })
}

export function renderEndpoint(networkId: string, settings: EndpointSettings): string {
  const { ip, mac, isRemote, providerAddress } = settings
  const provider = { Type: 'ProviderAddress', Settings: { ProviderAddress: providerAddress } }
  return renderGoJson({
    HostComputeNetwork: networkId,
    Policies: providerAddress === undefined ? undefined : [provider],
    IpConfigurations: [{ IpAddress: ip }],
    Dns: {},
    MacAddress: mac || undefined,
    Flags: isRemote ? remoteEndpoint : undefined,
    Health: { Extra: {} },
    SchemaVersion: schemaVersion,
  })
}

export function renderLoadBalancer(settings: LoadBalancerSettings): string {
  const mapping = {
    Protocol: settings.protocol || undefined,
    InternalPort: settings.internalPort || undefined,
    ExternalPort: settings.externalPort || undefined,
    DistributionType: settings.isSticky ? bySourceIp : undefined,
    Flags: settings.mappingFlags || undefined,
  }
  return renderGoJson({
    HostComputeEndpoints: settings.endpoints.length === 0 ? undefined : settings.endpoints,
    SourceVIP: settings.sourceVip,
    FrontendVIPs: settings.vip === undefined ? undefined : [settings.vip],
    PortMappings: [mapping],
    SchemaVersion: schemaVersion,
    Flags: settings.flags || undefined,
  })
}
