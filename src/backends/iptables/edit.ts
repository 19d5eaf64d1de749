/** The smallest restore input that leads from one plan to the next, for the routes that changed. */
import type { NodeView } from '../../core/backend.ts'
import type { RouteKey } from '../../core/route.ts'
import { isSameData } from '../../core/same-data.ts'
import { writeEdits } from '../../dataplane/iptables/language/edit-rules.ts'
import { topChains } from '../../dataplane/iptables/language/kube-chains.ts'
import { renderRule } from '../../dataplane/iptables/language/render-rule.ts'
import { RestoreInput } from '../../dataplane/iptables/language/restore-input.ts'
import type { RestoreScript } from '../../dataplane/iptables/language/restore-input.ts'
import { nodePortTail } from './fixed-chains.ts'
import { chainOptions, planRoute, withRoutes } from './plan.ts'
import type { IptablesPlan, PlannedRoute } from './plan.ts'
import type { IptablesSettings } from './settings.ts'

export interface IptablesEdit {
  /** What to send. Empty when the tables are right as they are. */
  readonly input: RestoreScript
  /** What the tables hold once they have taken it. */
  readonly after: IptablesPlan
}

export interface Wanted {
  readonly view: NodeView
  /** May differ from those of the plan in the node's addresses only. */
  readonly settings: IptablesSettings
  /** The routes that may have changed. */
  readonly keys: readonly RouteKey[]
}

export function editIptables(before: IptablesPlan, wanted: Wanted): IptablesEdit {
  const changes = changedRoutes(before, wanted)
  const input = new RestoreInput()
  writeEdits(before.routesByKey, changes, input)
  replaceTail(before.settings, wanted.settings, input)
  return { input, after: withRoutes({ ...before, settings: wanted.settings }, changes) }
}

/** Undefined for those that are gone. */
function changedRoutes(
  { routesByKey, totals }: IptablesPlan,
  { view, settings, keys }: Wanted,
): ReadonlyMap<RouteKey, PlannedRoute | undefined> {
  let endpoints = totals.endpoints
  for (const key of keys)
    endpoints +=
      (view.routesByKey.get(key)?.endpoints.length ?? 0) - (routesByKey.get(key)?.route.endpoints.length ?? 0)
  const options = chainOptions(settings, endpoints)
  const changes = new Map<RouteKey, PlannedRoute | undefined>()
  for (const key of keys) {
    const route = view.routesByKey.get(key)
    // A route that is still the same object has not changed. After a repair all of them are listed.
    if (route === routesByKey.get(key)?.route) continue
    changes.set(key, route && planRoute(route, options))
  }
  return changes
}

/** The last rules of nat/KUBE-SERVICES, when the node's addresses have changed. */
function replaceTail(before: IptablesSettings, after: IptablesSettings, input: RestoreInput): void {
  if (isSameData(before.nodePortIps, after.nodePortIps)) return
  for (const rule of nodePortTail(before)) input.delete('nat', topChains.services, renderRule(rule))
  for (const rule of nodePortTail(after)) input.append('nat', topChains.services, renderRule(rule))
}
