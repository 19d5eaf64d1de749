import type { OwnedObjects } from '../../dataplane/owned-objects/owned-objects.ts'
import type { Written } from './held.ts'
import { ownedBalancer, ownedEndpoint, ownedNames, ownedSourceVip } from './owned-names.ts'
import type { Frontend } from './owned-names.ts'
import { isNeeded } from './plan.ts'
import { wantedAt } from './resolve.ts'

/** Strikes out what is written down as ours, and neither wanted nor there: others deleted it, or we were cut off. */
export async function forgetLost(written: Written, owned: OwnedObjects): Promise<void> {
  const { plan, held, left, table } = written
  const leftFrontends = new Set([...left.balancers.values()].map(({ frontend }) => frontend))
  const names = ownedNames(owned.list(), plan.settings.family)
  const isHeld = (frontend: Frontend) => held.has(frontend) || leftFrontends.has(frontend)
  const hasEndpoint = (ip: string, isRemote: boolean) =>
    (table.byIp.get(ip) ?? []).some((endpoint) => endpoint.isRemote === isRemote)
  const lost = [
    ...names.frontends
      .filter((frontend) => !isHeld(frontend) && wantedAt(plan, frontend, written) === undefined)
      .map(ownedBalancer),
    ...names.endpointIps.filter((ip) => !hasEndpoint(ip, true) && !isNeeded(plan, ip)).map(ownedEndpoint),
    ...names.sourceVips.filter((ip) => !hasEndpoint(ip, false)).map(ownedSourceVip),
  ]
  if (lost.length > 0) await owned.remove(lost)
}
