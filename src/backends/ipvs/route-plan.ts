/** Everything one route needs from the kernel: worked out from that route alone. */
import type { Route } from '../../core/route.ts'
import type { Match } from '../../dataplane/iptables/language/rule.ts'
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
 * A connection of the node itself to a load-balancer IP has that very IP as its source. Where that is not allowed, it is
 * stopped on the way out, after IPVS has taken it.
 */
function outRules({ entrances, protocol }: Route): readonly string[] {
  return entrances.flatMap((entrance) => {
    if (entrance.kind !== 'load-balancer-ip') return []
    const { ip, port, allowed } = entrance
    if (allowed === undefined || allowed.ownAddresses.includes(ip)) return []
    const matches: readonly Match[] = [
      { kind: 'source', value: ip },
      { kind: 'virtual-server', ip, protocol, port },
    ]
    return [renderRule({ matches, target: { kind: 'drop' } })]
  })
}
