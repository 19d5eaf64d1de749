/** How a rule tells traffic of pods on this node from the rest. */
import type { LocalTraffic } from '../../core/node/local-traffic.ts'
import type { Statement } from '../../dataplane/nft/rule.ts'

/** Undefined when there is no way to tell. */
export function fromPodsHere(traffic: LocalTraffic): Statement | undefined {
  return matchOf(traffic, false)
}

/** Undefined when there is no way to tell. */
export function fromElsewhere(traffic: LocalTraffic): Statement | undefined {
  return matchOf(traffic, true)
}

function matchOf(traffic: LocalTraffic, isNot: boolean): Statement | undefined {
  switch (traffic.kind) {
    case 'cidr':
      return { kind: 'source', cidr: traffic.cidr, isNot }
    case 'interface':
      return { kind: 'in interface', name: traffic.name, isNot }
    case 'interface-prefix':
      return { kind: 'in interface', name: `${traffic.prefix}*`, isNot }
    case 'none':
      return undefined
    default:
      return traffic satisfies never
  }
}
