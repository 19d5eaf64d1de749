/** Finds out which load balancers of ours HNS holds. */
import type { Hcn, LoadBalancerSummary } from '../../dataplane/hcn/hcn.ts'
import { frontendOf } from '../../dataplane/hcn/load-balancer-content.ts'
import type { OwnedObjects } from '../../dataplane/owned-objects/owned-objects.ts'
import type { Family } from '../../net/ip.ts'
import { VersionedMap } from '../../core/versioned-map.ts'
import type { HeldBalancer, Left } from './held.ts'
import { ownedBalancer } from './owned-names.ts'
import type { Frontend } from './owned-names.ts'

export interface FoundBalancers {
  readonly held: VersionedMap<Frontend, HeldBalancer>
  /** Ours, by id, and there is another one of the same frontend. */
  readonly surplus: Left['balancers']
}

export interface Ours {
  readonly family: Family
  readonly owned: Pick<OwnedObjects, 'has'>
  /** A Service has this frontend, so whoever made a load balancer for it, it is ours to change. */
  isClaimed(frontend: Frontend): boolean
}

/** Reads every load balancer of the host. Those of others are left out. */
export async function readBalancers(
  hcn: Pick<Hcn, 'loadBalancers'>,
  summaries: readonly LoadBalancerSummary[],
  ours: Ours,
  signal: AbortSignal,
): Promise<FoundBalancers> {
  const brokenIds = new Set(summaries.filter(({ isDegraded }) => isDegraded).map(({ id }) => id))
  const held = new Map<Frontend, HeldBalancer>()
  const surplus = new Map<string, HeldBalancer>()
  for (const { id, ...settings } of await hcn.loadBalancers(signal)) {
    const frontend = frontendOf(settings) as Frontend
    if (!frontend.startsWith(`${ours.family} `)) continue
    const isOwned = ours.owned.has(ownedBalancer(frontend))
    if (!isOwned && !ours.isClaimed(frontend)) continue
    const balancer = { id, frontend, settings, isBroken: brokenIds.has(id) }
    if (!held.has(frontend)) held.set(frontend, balancer)
    else if (isOwned) surplus.set(id, balancer)
  }
  return { held: new VersionedMap(held), surplus }
}
