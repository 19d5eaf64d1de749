import type { OwnedObjects } from '../../dataplane/owned-objects/owned-objects.ts'
import type { Written } from './held.ts'
import { ownedBalancer, ownedEndpoint, ownedNames, ownedSourceVip } from './owned-names.ts'

/** Strikes out what is written down as ours, and neither wanted nor there: others deleted it, or we were cut off. */
export async function forgetLost({ plan, held, left, table }: Written, owned: OwnedObjects): Promise<void> {
  const { family } = plan.settings
  const leftFrontends = new Set([...left.balancers.values()].map(({ frontend }) => frontend))
  const names = ownedNames(owned.list(), family)
  const isThere = (ip: string, isRemote: boolean) =>
    (table.byIp.get(ip) ?? []).some((endpoint) => endpoint.isRemote === isRemote)
  const lost = [
    ...names.frontends
      .filter((it) => !plan.claimsByFrontend.has(it) && !held.has(it) && !leftFrontends.has(it))
      .map(ownedBalancer),
    ...names.endpointIps.filter((ip) => !plan.keysByIp.has(ip) && !isThere(ip, true)).map(ownedEndpoint),
    ...names.sourceVips.filter((ip) => !isThere(ip, false)).map(ownedSourceVip),
  ]
  if (lost.length > 0) await owned.remove(lost)
}
