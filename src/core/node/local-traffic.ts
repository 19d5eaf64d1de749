/** How a data plane recognises traffic of pods on this node. */
import { parseCidr, renderCidr } from '../../net/ip.ts'
import type { Family } from '../../net/ip.ts'

export type LocalTraffic =
  /** Packets from these addresses. */
  | { readonly kind: 'cidr'; readonly cidr: string }
  /** Packets that arrive on this interface. */
  | { readonly kind: 'interface'; readonly name: string }
  /** Packets that arrive on an interface whose name begins so. */
  | { readonly kind: 'interface-prefix'; readonly prefix: string }
  /** There is no way to tell, so rules that depend on it are left out. */
  | { readonly kind: 'none' }

export interface LocalTrafficSettings {
  /** `detectLocalMode` of the configuration; a mode that is not known recognises nothing. */
  readonly mode: string
  readonly clusterCIDRs: readonly string[]
  /** Those of this Node. */
  readonly podCIDRs: readonly string[]
  readonly bridgeInterface: string
  readonly interfaceNamePrefix: string
}

export function localTraffic(settings: LocalTrafficSettings): Readonly<Record<Family, LocalTraffic>> {
  switch (settings.mode) {
    case 'ClusterCIDR':
      return firstCidrs(settings.clusterCIDRs)
    case 'NodeCIDR':
      return firstCidrs(settings.podCIDRs)
    case 'BridgeInterface':
      return both({ kind: 'interface', name: settings.bridgeInterface })
    case 'InterfaceNamePrefix':
      return both({ kind: 'interface-prefix', prefix: settings.interfaceNamePrefix })
    default:
      return both({ kind: 'none' })
  }
}

/** Only the first CIDR of a family counts; so kube-proxy does. */
function firstCidrs(texts: readonly string[]): Readonly<Record<Family, LocalTraffic>> {
  const cidrs = texts.flatMap((text) => parseCidr(text) ?? [])
  const first = (family: Family): LocalTraffic => {
    const cidr = cidrs.find((candidate) => candidate.family === family)
    return cidr === undefined ? { kind: 'none' } : { kind: 'cidr', cidr: renderCidr(cidr) }
  }
  return { ipv4: first('ipv4'), ipv6: first('ipv6') }
}

function both(detector: LocalTraffic): Readonly<Record<Family, LocalTraffic>> {
  return { ipv4: detector, ipv6: detector }
}
