/** What the tables hold for one route, piece by piece. */
import type { PlannedRule } from '../../core/inspect-pieces.ts'
import type { PieceEntrance } from '../../core/inspection.ts'
import type { Route, RouteKey } from '../../core/route.ts'
import { rulePieces } from '../../dataplane/iptables/language/rule-pieces.ts'
import type { RulePieces } from '../../dataplane/iptables/language/rule-pieces.ts'
import type { IptablesPlan } from './plan.ts'

/** Undefined: there is no such route in the plan. */
export function routePieces({ routesByKey, settings }: IptablesPlan, key: RouteKey): RulePieces | undefined {
  const planned = routesByKey.get(key)
  if (planned === undefined) return undefined
  const { shared, chains } = rulePieces(planned.rendered, settings.family)
  const ofEntrance = <One extends PlannedRule>(rule: One): One => {
    const entrance = entranceOf(rule.readsAs, planned.route)
    return entrance === undefined ? rule : { ...rule, piece: { ...rule.piece, entrance } }
  }
  return {
    shared: shared.map(ofEntrance),
    chains: chains.map((chain) => ({ ...chain, rules: chain.rules.map(ofEntrance) })),
  }
}

/** Some rules of a node port name a range of addresses, but none names a single one. */
function entranceOf(rule: string, { entrances, ranges }: Route): PieceEntrance | undefined {
  const [port, last = port] = / --dport (\S+)/.exec(rule)?.[1]?.split(':').map(Number) ?? []
  const ip = /(?:^| )-d (\S+)\/(?:32|128) /.exec(rule)?.[1]
  const range = ranges?.find((it) => it.ip === ip && it.port === port && it.lastPort === last)
  if (range !== undefined) return { ip: range.ip, port: range.port, lastPort: range.lastPort }
  const found = entrances.find((it) => it.port === port && (it.kind === 'node-port' ? undefined : it.ip) === ip)
  return found && { ...(ip !== undefined && { ip }), port: found.port }
}
