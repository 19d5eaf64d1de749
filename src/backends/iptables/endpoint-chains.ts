/** One chain for each endpoint: the hairpin rule, and the rewrite of the destination. */
import type { Chain, Match } from '../../dataplane/iptables/language/rule.ts'
import { comment, jump } from '../../dataplane/iptables/language/rule.ts'
import type { ServiceFacts } from './service-facts.ts'
import { topChains } from '../../dataplane/iptables/language/kube-chains.ts'

const masquerade = jump(topChains.markMasquerade)

export function endpointChains({ name, route, chains }: ServiceFacts, isLargeCluster: boolean): readonly Chain[] {
  const notes: readonly Match[] = isLargeCluster ? [] : [comment(name)]
  const traffic: Match = { kind: 'traffic', protocol: route.protocol }
  return route.reachableEndpoints.map((endpoint) => {
    const chain = chains.endpoint(endpoint)
    const affinity: readonly Match[] = route.affinitySeconds > 0 ? [{ kind: 'remember', list: chain }] : []
    return {
      name: chain,
      rules: [
        // A pod that reaches itself through its Service must see another source, or it would answer itself directly.
        { matches: [...notes, { kind: 'source', value: endpoint.ip }], target: masquerade },
        {
          matches: [...notes, ...affinity, traffic],
          target: { kind: 'dnat', address: endpoint.address },
        },
      ],
    }
  })
}
