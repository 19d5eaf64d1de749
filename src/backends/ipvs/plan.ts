/** What the kernel shall hold for all routes: data that nobody changes. */
import type { NodeView } from '../../core/backend.ts'
import type { RouteKey } from '../../core/route.ts'
import { VersionedMap } from '../../core/versioned-map.ts'
import type { Changes } from '../../core/versioned-map.ts'
import { fixedChains } from './fixed-chains.ts'
import type { PlacedChain } from './fixed-chains.ts'
import { eachSet, setIds } from './ip-sets.ts'
import type { SetId } from './ip-sets.ts'
import { serverKinds } from './planned-server.ts'
import type { PlannedServer, ServerId } from './planned-server.ts'
import { planRoute } from './route-plan.ts'
import type { RoutePlan } from './route-plan.ts'
import type { IpvsSettings } from './settings.ts'

export interface IpvsPlan {
  readonly settings: IpvsSettings
  readonly routesByKey: VersionedMap<RouteKey, RoutePlan>
  /** The routes that want a virtual server; never empty. The kernel has one of each, and the first claim gets it. */
  readonly claimsById: VersionedMap<ServerId, readonly Claim[]>
  /** Those of `ipvsIps` are also the addresses that our link shall hold. */
  readonly entries: Readonly<Record<SetId, Counts>>
  /** In filter/KUBE-IPVS-OUT-FILTER, where the order does not matter. */
  readonly outRules: Counts
  /** All others. */
  readonly chains: readonly PlacedChain[]
}

interface Claim {
  readonly key: RouteKey
  readonly server: PlannedServer
}

/** How often each is wanted: ports of a Service share an address, two Services may name the same set entry. */
export type Counts = VersionedMap<string, number>

/** Routes in the order to program them. */
export function planIpvs(
  view: NodeView,
  settings: IpvsSettings,
  order: Iterable<RouteKey> = view.routesByKey.keys(),
): IpvsPlan {
  const routesByKey = new Map<RouteKey, RoutePlan>()
  const claimsById = new Map<ServerId, readonly Claim[]>()
  const counts = noCounts()
  for (const key of order) {
    const route = view.routesByKey.get(key)
    if (route === undefined) continue
    const plan = planRoute(route, settings)
    routesByKey.set(key, plan)
    for (const server of plan.servers) claimsById.set(server.id, withClaim(claimsById.get(server.id), { key, server }))
    addCounts(counts, plan, 1)
  }
  const entries = eachSet((set) => new VersionedMap(counts.entries.get(set)))
  return {
    settings,
    routesByKey: new VersionedMap(routesByKey),
    claimsById: new VersionedMap(claimsById),
    entries,
    outRules: new VersionedMap(counts.outRules),
    chains: fixedChains({ settings, filledSets: filledSets(entries) }),
  }
}

/** The same with other routes. The cost follows the size of these routes. */
export function planWith(before: IpvsPlan, routes: Changes<RouteKey, RoutePlan>): IpvsPlan {
  const { settings } = before
  const changes = noCounts()
  for (const [key, route] of routes) {
    addCounts(changes, before.routesByKey.get(key), -1)
    addCounts(changes, route, 1)
  }
  const entries = { ...before.entries }
  let changesWhatIsFilled = false
  for (const [set, ofSet] of changes.entries) {
    const wasFilled = entries[set].size > 0
    entries[set] = recount(entries[set], ofSet)
    if (wasFilled !== entries[set].size > 0) changesWhatIsFilled = true
  }
  return {
    settings,
    claimsById: before.claimsById.with(changedClaims(before, routes)),
    routesByKey: before.routesByKey.with(routes),
    entries,
    outRules: recount(before.outRules, changes.outRules),
    chains: changesWhatIsFilled ? fixedChains({ settings, filledSets: filledSets(entries) }) : before.chains,
  }
}

export function plannedServer({ claimsById }: IpvsPlan, id: ServerId): PlannedServer | undefined {
  return claimsById.get(id)?.[0]?.server
}

interface CountsOfAll {
  readonly entries: Map<SetId, Map<string, number>>
  readonly outRules: Map<string, number>
}

function noCounts(): CountsOfAll {
  return { entries: new Map(), outRules: new Map() }
}

function addCounts({ entries, outRules }: CountsOfAll, route: RoutePlan | undefined, by: 1 | -1): void {
  if (route === undefined) return
  for (const { set, entry } of route.entries) {
    let ofSet = entries.get(set)
    if (ofSet === undefined) entries.set(set, (ofSet = new Map()))
    ofSet.set(entry, (ofSet.get(entry) ?? 0) + by)
  }
  for (const rule of route.outRules) outRules.set(rule, (outRules.get(rule) ?? 0) + by)
}

function recount(counts: Counts, changes: ReadonlyMap<string, number>): Counts {
  const changed = new Map<string, number | undefined>()
  for (const [text, by] of changes) {
    if (by === 0) continue
    const count = (counts.get(text) ?? 0) + by
    changed.set(text, count === 0 ? undefined : count)
  }
  return counts.with(changed)
}

function changedClaims(
  { claimsById, routesByKey }: IpvsPlan,
  routes: Changes<RouteKey, RoutePlan>,
): Changes<ServerId, readonly Claim[]> {
  const changed = new Map<ServerId, readonly Claim[] | undefined>()
  const current = (id: ServerId) => (changed.has(id) ? changed.get(id) : claimsById.get(id))
  for (const [key, route] of routes) {
    for (const { id } of routesByKey.get(key)?.servers ?? []) {
      const others = current(id)?.filter((claim) => claim.key !== key) ?? []
      changed.set(id, others.length === 0 ? undefined : others)
    }
    for (const server of route?.servers ?? []) changed.set(server.id, withClaim(current(server.id), { key, server }))
  }
  return changed
}

/**
 * Several routes may want the same virtual server, e.g. because two Services name the same external IP. A cluster IP
 * comes first, then the name decides: the same objects always give the same answer, whatever the order they came in.
 */
function withClaim(others: readonly Claim[] | undefined, claim: Claim): readonly Claim[] {
  return others === undefined ? [claim] : [...others, claim].sort(byPrecedence)
}

function byPrecedence(left: Claim, right: Claim): number {
  const byKind = serverKinds.indexOf(left.server.kind) - serverKinds.indexOf(right.server.kind)
  if (byKind !== 0) return byKind
  return left.key < right.key ? -1 : 1
}

function filledSets(entries: IpvsPlan['entries']): ReadonlySet<SetId> {
  return new Set(setIds.filter((set) => entries[set].size > 0))
}
