/** What the tables hold for one route, and where. */
import type { Extent } from './arena.ts'
import type { PlannedList } from './frontends-of.ts'
import type { FrontendTarget, Frontend, ListName } from './layout.ts'

export interface HeldService {
  readonly index: number
  readonly lists: Readonly<Record<ListName, HeldList>>
  readonly affinitySeconds: number
  readonly roundRobin: boolean
  readonly recordsByAddress: ReadonlyMap<string, HeldRecord>
}

export type HeldList =
  /** Lists with the same endpoints share an extent. */
  | { readonly kind: 'endpoints'; readonly addresses: readonly string[]; readonly extent: Extent }
  | { readonly kind: 'refuse' | 'pass' }
  /** Somebody else wrote there: it leads nowhere, or to others. */
  | { readonly kind: 'broken' }

export interface HeldRecord {
  readonly id: number
  readonly port: number
  readonly lists: number
  readonly generation: number
}

export interface HeldFrontend {
  readonly frontend: Frontend
  /** Undefined: somebody else wrote there. */
  readonly target: FrontendTarget | undefined
}

/** Each once. */
export function extentsOf({ lists }: Pick<HeldService, 'lists'>): readonly Extent[] {
  const { internal, external } = lists
  const first = internal.kind === 'endpoints' ? [internal.extent] : []
  if (external.kind !== 'endpoints' || first.some(({ base }) => base === external.extent.base)) return first
  return [...first, external.extent]
}

/** What is held is as it shall be. */
export function isSameList(held: HeldList, wanted: PlannedList): boolean {
  if (held.kind !== 'endpoints' || wanted.kind !== 'endpoints') return held.kind === wanted.kind
  const { addresses } = held
  return (
    addresses.length === wanted.addresses.length &&
    wanted.addresses.every((address, place) => address === addresses[place])
  )
}
