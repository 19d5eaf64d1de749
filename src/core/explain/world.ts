/** What an explanation is made from. */
import type { ObjectKey } from '../../api/records.ts'
import type { Family } from '../../net/ip.ts'
import type { NodeView } from '../backend.ts'
import type { Catalog } from '../catalog.ts'
import type { TrafficSettings } from '../node/traffic-settings.ts'
import type { RefusedClaim, RefusedService } from '../routing/address-claims.ts'
import type { ServiceNotice } from '../routing/service-notices.ts'
import type { ServingPolicy } from '../routing/serving-policy.ts'
import type { Explanation } from './explanation.ts'
import type { ModeTraits } from './mode-traits.ts'

/** A RouteTable, as far as it is asked. */
export interface RouteKnowledge {
  readonly isInitialised: boolean
  /** What the last sync was given to program. */
  readonly view: NodeView
  readonly policy: ServingPolicy
  /** This node's addresses of the family. */
  readonly nodeIPs: readonly string[]
  refusedAt(place: Pick<RefusedClaim, 'ip' | 'protocol' | 'port'>): readonly RefusedService[]
  noticesOf(service: ObjectKey): readonly ServiceNotice[]
}

export interface FamilyWorld {
  readonly family: Family
  readonly table: RouteKnowledge
  readonly traffic: Omit<TrafficSettings, 'masqueradeMark'>
  /** `detectLocalMode` of the configuration, to name it. */
  readonly detectLocalMode: string
}

export interface World {
  readonly catalog: Catalog
  readonly traits: ModeTraits
  readonly families: readonly FamilyWorld[]
}

/** One family of the world, as most of the explanation needs it. */
export interface Scene extends FamilyWorld {
  readonly catalog: Catalog
  readonly traits: ModeTraits
}

/** What every explanation says. */
export function setting({ traits, family, table }: Scene): Pick<Explanation, 'mode' | 'family' | 'node'> {
  return { mode: traits.mode, family, node: table.view.node }
}
