/** What the kernelspace mode leaves in HNS: nothing there says whose it is, so only what is written down as ours counts. */
import { nothingFound, removalOf } from '../../core/leftover.ts'
import type { Findings, Removal } from '../../core/leftover.ts'
import type { Hcn, HcnEndpoint } from '../../dataplane/hcn/hcn.ts'
import { frontendOf } from '../../dataplane/hcn/load-balancer-content.ts'
import type { OwnedObjects } from '../../dataplane/owned-objects/owned-objects.ts'
import { ownedBalancer, ownedEndpoint, ownedNames, ownedSourceVip } from './owned-names.ts'
import type { Frontend } from './owned-names.ts'

const modes = ['kernelspace'] as const
const reason = 'written down in the state directory as made by Fairlead'

export interface HnsDoors {
  readonly hcn: Hcn
  readonly owned: OwnedObjects
}

/** Load balancers go before the endpoints that they name. */
export async function findLeftovers(doors: HnsDoors, signal: AbortSignal): Promise<Findings> {
  const names = ownedNames(doors.owned.list())
  if (names.frontends.length + names.endpointIps.length + names.sourceVips.length === 0) return nothingFound
  const balancers = await balancersLeft(doors, signal)
  return { ...nothingFound, removals: [...balancers, ...(await endpointsLeft(doors, names.networks, signal))] }
}

async function balancersLeft({ hcn, owned }: HnsDoors, signal: AbortSignal): Promise<readonly Removal[]> {
  const found = await hcn.loadBalancers(signal)
  return found.flatMap((balancer) => {
    const name = ownedBalancer(frontendOf(balancer) as Frontend)
    if (!owned.has(name)) return []
    return [
      removalOf({ what: `hns: load ${name}`, reason, modes }, async (removing) => {
        await hcn.deleteLoadBalancer(balancer.id, removing)
        await owned.remove([name])
      }),
    ]
  })
}

async function endpointsLeft(
  { hcn, owned }: HnsDoors,
  networks: readonly string[],
  signal: AbortSignal,
): Promise<readonly Removal[]> {
  const removals: Removal[] = []
  for (const network of networks) {
    const found = await hcn.networkNamed(network, signal)
    for (const id of found === undefined ? [] : await hcn.endpointIds(found.id, signal)) {
      const endpoint = await hcn.endpoint(id, signal)
      const name = endpoint && nameOf(endpoint)
      if (name === undefined || !owned.has(name)) continue
      removals.push(
        removalOf({ what: `hns: ${name} in network ${network}`, reason, modes }, async (removing) => {
          await hcn.deleteEndpoint(id, removing)
          await owned.remove([name])
        }),
      )
    }
  }
  return removals
}

/** A local endpoint is a pod's, unless it is that of the source VIP. */
function nameOf({ ips: [ip], isRemote }: HcnEndpoint): string | undefined {
  if (ip === undefined) return undefined
  return isRemote ? ownedEndpoint(ip) : ownedSourceVip(ip)
}
