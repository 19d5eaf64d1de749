/** Everything one route needs from the kernel: worked out from that route alone. */
import type { Route } from '../../core/route.ts'
import { renderRule } from '../../dataplane/iptables/language/render-rule.ts'
import { plannedServers } from './planned-server.ts'
import type { PlannedServer } from './planned-server.ts'
import { setEntries } from './set-entries.ts'
import type { SetEntry } from './set-entries.ts'
import type { IpvsSettings } from './settings.ts'

export interface RoutePlan {
  readonly servers: readonly PlannedServer[]
  readonly entries: readonly SetEntry[]
  /** Its rules in filter/KUBE-IPVS-OUT-FILTER, without `-A CHAIN`. */
  readonly outRules: readonly string[]
}

export function planRoute(route: Route, settings: IpvsSettings): RoutePlan {
  const servers = plannedServers(route, settings)
  return { servers, entries: setEntries(route, servers, settings), outRules: outRules(route) }
}

/**
 * A connection of the node itself to a load-balancer IP has that very IP as its source. Where the source ranges leave
 * the node out, it is stopped on the way out, after IPVS has taken it.
 */
function outRules({ loadBalancerIPs, sourceRanges, sourceRangesCoverNode, protocol, port }: Route): readonly string[] {
  if (sourceRanges === undefined || sourceRangesCoverNode) return []
  return loadBalancerIPs.map((ip) =>
    renderRule({
      matches: [
        { kind: 'source', value: ip },
        { kind: 'virtual-server', ip, protocol, port },
      ],
      target: { kind: 'drop' },
    }),
  )
}
