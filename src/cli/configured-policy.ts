/** What Services may ask of this node, as far as the configuration says it. */
import { isGateOn } from '../config/feature-gates.ts'
import type { ProxyConfig } from '../config/proxy-config.ts'
import { withRequested } from '../core/routing/mode-abilities.ts'
import type { ModeAbilities } from '../core/routing/mode-abilities.ts'
import type { ServingPolicy } from '../core/routing/serving-policy.ts'
import { parseCidr } from '../net/ip.ts'
import type { Cidr } from '../net/ip.ts'

export function configuredPolicy(
  { featureGates, fairlead, detectLocal }: ProxyConfig,
  abilities: ModeAbilities,
): Pick<ServingPolicy, 'allowExternalIPs' | 'strictSourceRanges' | 'guard' | 'abilities'> {
  return {
    abilities: withRequested(abilities, fairlead.destroyOldConnections ? ['--destroy-old-connections'] : []),
    allowExternalIPs: isGateOn(featureGates, 'AllowServiceExternalIPs'),
    strictSourceRanges: fairlead.strictSourceRanges,
    guard: {
      mode: fairlead.externalIPGuard,
      externalIPCidrs: cidrs(fairlead.externalIPCIDRs),
      byNamespace: fairlead.externalIPGuardNamespaces,
      podRanges: cidrs(detectLocal.clusterCidrs),
    },
  }
}

/** What is no range is refused where it can be given; the cluster's ranges only in the mode that needs them. */
function cidrs(texts: readonly string[]): readonly Cidr[] {
  return texts.flatMap((text) => parseCidr(text) ?? [])
}
