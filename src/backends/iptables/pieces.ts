/** What the tables hold for one route, piece by piece. */
import type { RouteKey } from '../../core/route.ts'
import { rulePieces } from '../../dataplane/iptables/language/rule-pieces.ts'
import type { RulePieces } from '../../dataplane/iptables/language/rule-pieces.ts'
import type { IptablesPlan } from './plan.ts'

/** Undefined: there is no such route in the plan. */
export function routePieces({ routesByKey, settings }: IptablesPlan, key: RouteKey): RulePieces | undefined {
  const planned = routesByKey.get(key)
  return planned && rulePieces(planned.rendered, settings.family)
}
