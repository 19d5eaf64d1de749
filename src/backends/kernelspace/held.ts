/** What HNS holds of ours, as far as we know. */
import type { RouteKey } from '../../core/route.ts'
import type { VersionedMap } from '../../core/versioned-map.ts'
import type { LoadBalancerSettings } from '../../dataplane/hcn/hcn.ts'
import { contentOf } from '../../dataplane/hcn/load-balancer-content.ts'
import type { EndpointTable } from './endpoint-table.ts'
import { endpointAt } from './endpoint-table.ts'
import type { Frontend } from './owned-names.ts'
import type { KernelspacePlan } from './plan.ts'
import { endpointIdsOf, settingsOf } from './resolve.ts'
import type { Surroundings, Wanted } from './resolve.ts'

export interface HeldBalancer {
  readonly id: string
  readonly frontend: Frontend
  readonly settings: LoadBalancerSettings
  /** HNS can no longer forward with it, so it has to be made anew. */
  readonly isBroken: boolean
}

/** A plan that was written, the ids that HNS gave to it, and where HNS deviates from it. */
export interface Written extends Surroundings {
  readonly plan: KernelspacePlan
  readonly held: VersionedMap<Frontend, HeldBalancer>
  readonly left: Left
  /** Something of theirs was refused: what is held may differ from what they want. */
  readonly failedKeys: ReadonlySet<RouteKey>
}

/** What nobody wants any more, and HNS did not let go; few. It is tried again. */
export interface Left {
  /** By id. */
  readonly balancers: ReadonlyMap<string, HeldBalancer>
  /** Ids. */
  readonly endpoints: ReadonlySet<string>
}

export const nothingLeft: Left = { balancers: new Map(), endpoints: new Set() }

/** Whether the load balancer is already what is wanted. */
export function isAsWanted(held: HeldBalancer, wanted: Wanted, table: EndpointTable): boolean {
  if (held.isBroken || wanted.ips.some((ip) => endpointAt(table, ip) === undefined)) return false
  return contentOf(held.settings) === contentOf(settingsOf(wanted, endpointIdsOf(wanted, table)))
}
