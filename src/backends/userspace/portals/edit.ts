/** What to send when the portals of some routes change, and what the chains hold then. */
import type { RouteKey } from '../../../core/route.ts'
import { writeEdits } from '../../../dataplane/iptables/language/edit-rules.ts'
import { RestoreInput } from '../../../dataplane/iptables/language/restore-input.ts'
import type { PlannedPortal, PortalPlan } from './plan.ts'

export interface PortalEdit {
  readonly input: RestoreInput
  readonly after: PortalPlan
}

/** Undefined stands for a route that is gone. */
export function editPortals(
  before: PortalPlan,
  wantedByKey: ReadonlyMap<RouteKey, PlannedPortal | undefined>,
): PortalEdit {
  const input = new RestoreInput()
  writeEdits(before.portalsByKey, wantedByKey, input)
  return { input, after: { ...before, portalsByKey: before.portalsByKey.with(wantedByKey) } }
}
