/** Which load balancers of HNS are ours. */
import { VersionedMap } from '../../core/versioned-map.ts'
import { frontendOf } from '../../dataplane/hcn/load-balancer-content.ts'
import type { OwnedObjects } from '../../dataplane/owned-objects/owned-objects.ts'
import type { Family } from '../../net/ip.ts'
import type { FoundBalancer } from './balancer-reader.ts'
import type { HeldBalancer, Left } from './held.ts'
import { ownedBalancer } from './owned-names.ts'
import type { Frontend } from './owned-names.ts'

export interface Ours {
  readonly family: Family
  readonly owned: Pick<OwnedObjects, 'has'>
  /** A Service has this frontend, so whoever made a load balancer for it, it is ours to change. */
  isClaimed(frontend: Frontend): boolean
  /** What HNS did not let go before. */
  readonly left: Left['balancers']
}

export interface HeldAndLeft {
  readonly held: VersionedMap<Frontend, HeldBalancer>
  readonly left: Left['balancers']
}

/** Those of others are left out. */
export function heldAsFound(found: readonly FoundBalancer[], ours: Ours): HeldAndLeft {
  const held = new Map<Frontend, HeldBalancer>()
  const left = new Map<string, HeldBalancer>()
  for (const { id, settings, isDegraded } of found) {
    const frontend = frontendOf(settings) as Frontend
    if (!frontend.startsWith(`${ours.family} `)) continue
    const isOwned = ours.owned.has(ownedBalancer(frontend))
    const isClaimed = ours.isClaimed(frontend)
    if (!isOwned && !isClaimed) continue
    const balancer = { id, frontend, settings, isBroken: isDegraded }
    if (held.has(frontend) || (!isClaimed && ours.left.has(id))) left.set(id, balancer)
    else held.set(frontend, balancer)
  }
  return { held: new VersionedMap(held), left }
}
