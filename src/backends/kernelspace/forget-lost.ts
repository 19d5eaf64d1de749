import type { Hcn } from '../../dataplane/hcn/hcn.ts'
import type { OwnedObjects } from '../../dataplane/owned-objects/owned-objects.ts'
import type { Written } from './held.ts'
import { ownedBalancer, ownedEndpoint, ownedNames, ownedNetwork, ownedSourceVip } from './owned-names.ts'
import type { Frontend } from './owned-names.ts'
import { isNeeded } from './plan.ts'
import { wantedAt } from './resolve.ts'

/** Strikes out what is written down as ours, and neither wanted nor there: others deleted it, or we were cut off. */
export async function forgetLost(
  written: Written,
  { hcn, owned }: { readonly hcn: Pick<Hcn, 'networkNamed'>; readonly owned: OwnedObjects },
  signal: AbortSignal,
): Promise<void> {
  const { plan, held, left, table } = written
  const leftFrontends = new Set([...left.balancers.values()].map(({ frontend }) => frontend))
  const names = ownedNames(owned.list(), plan.settings.family)
  const isHeld = (frontend: Frontend) => held.has(frontend) || leftFrontends.has(frontend)
  const hasEndpoint = (ip: string, isRemote: boolean) =>
    (table.byIp.get(ip) ?? []).some((endpoint) => endpoint.isRemote === isRemote)
  // Another network had our endpoints once. As long as it is there, they may be, too, and a clean-up shall find them.
  const others = names.networks.filter((name) => name !== plan.settings.network.name)
  const gone: string[] = []
  for (const name of others) if ((await hcn.networkNamed(name, signal)) === undefined) gone.push(name)
  const mayBeElsewhere = gone.length < others.length
  const lost = [
    ...gone.map(ownedNetwork),
    ...names.frontends
      .filter((frontend) => !isHeld(frontend) && wantedAt(plan, frontend, written) === undefined)
      .map(ownedBalancer),
    ...names.endpointIps
      .filter((ip) => !mayBeElsewhere && !hasEndpoint(ip, true) && !isNeeded(plan, ip))
      .map(ownedEndpoint),
    ...names.sourceVips.filter((ip) => !mayBeElsewhere && !hasEndpoint(ip, false)).map(ownedSourceVip),
  ]
  if (lost.length > 0) await owned.remove(lost)
}
