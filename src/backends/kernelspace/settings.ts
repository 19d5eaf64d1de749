/** What shapes the plan besides the routes: the configuration, the network, and what this HNS can do. */
import type { HnsFeatures } from '../../dataplane/hcn/features.ts'
import type { Family } from '../../net/ip.ts'

export interface KernelspaceSettings {
  readonly family: Family
  /** Of HNS. The type is as HNS writes it. */
  readonly network: { readonly name: string; readonly type: string }
  /** Direct server return at cluster IPs. */
  readonly enableDsr: boolean
  readonly features: Pick<HnsFeatures, 'dsr' | 'sessionAffinity' | 'modifyLoadBalancer'>
  /** What pods of other nodes see as the client, in an overlay network; nobody asks for it in others. */
  readonly sourceVip: string | undefined
  readonly nodeIp: string
  /** Of the interface that has the node's address; only for overlay networks. */
  readonly hostMac: string
  /** Load balancers may ask for the node's health at their own address. */
  readonly forwardHealthCheckVip: boolean
  /** The endpoint of the host itself, which answers them. */
  readonly rootEndpointName: string
  /** Where Services without a health check port of their own are asked for; undefined: nowhere. */
  readonly healthzPort: number | undefined
}

export function isOverlay({ network }: Pick<KernelspaceSettings, 'network'>): boolean {
  return network.type.toLowerCase() === 'overlay'
}
