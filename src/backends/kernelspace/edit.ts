/** What to send, so that HNS holds what a plan says: a value, which changes nothing. */
import type { NodeView } from '../../core/backend.ts'
import { isSameData } from '../../core/same-data.ts'
import type { RouteKey } from '../../core/route.ts'
import { familyOf } from '../../net/ip.ts'
import { endpointAt, usedIps, withEndpoints } from './endpoint-table.ts'
import type { TableChange } from './endpoint-table.ts'
import { isAsWanted } from './held.ts'
import type { HeldBalancer, Written } from './held.ts'
import { newEndpointsFor } from './new-endpoints.ts'
import type { NewEndpoint } from './new-endpoints.ts'
import type { Frontend } from './owned-names.ts'
import { isNeeded, planWith } from './plan.ts'
import type { KernelspacePlan } from './plan.ts'
import { wantedAt } from './resolve.ts'
import type { Wanted } from './resolve.ts'
import { ipsOf, planRoute } from './route-plan.ts'
import type { RoutePlan } from './route-plan.ts'

export interface KernelspaceEdit {
  /** What is true when HNS has taken all of it, but for the ids that only HNS knows. */
  readonly after: Written
  /** Whether it starts from what was just read. Otherwise it trusts what was written, and others may have changed that. */
  readonly isFromReading: boolean
  /** The routes that were looked at. */
  readonly keys: readonly RouteKey[]
  /** All that are wanted, of those that were looked at. */
  readonly wantedFrontends: readonly Frontend[]
  /** The routes, of those that were looked at, with a load balancer whose endpoints listen on different ports. */
  readonly mixedKeys: ReadonlySet<RouteKey>
  /** In the order to create them. */
  readonly newEndpoints: readonly NewEndpoint[]
  /** Deletions that failed before. */
  readonly retries: readonly HeldBalancer[]
  /** What has to go before it is made anew. */
  readonly rebuilt: readonly HeldBalancer[]
  readonly writes: readonly BalancerWrite[]
  /** What nobody wants any more. */
  readonly freed: readonly HeldBalancer[]
  /** Ids of remote endpoints that nobody may need any more. */
  readonly suspects: ReadonlySet<string>
}

export interface BalancerWrite {
  readonly wanted: Wanted
  readonly held: HeldBalancer | undefined
}

/** The routes want what they wanted before, and have it. */
export function isNothingToDo(before: Written, view: NodeView, keys: readonly RouteKey[]): boolean {
  const { plan, left, failedKeys } = before
  if (left.balancers.size > 0 || left.endpoints.size > 0) return false
  return keys.every((key) => {
    const route = view.routesByKey.get(key)
    const wanted = route && planRoute(route, plan.settings)
    return !failedKeys.has(key) && isSameData(plan.routesByKey.get(key), wanted)
  })
}

/** From what was written to the same with other routes and other endpoints. The cost follows the size of these. */
export function editRoutes(
  before: Written,
  view: NodeView,
  keys: readonly RouteKey[],
  endpoints: TableChange,
): KernelspaceEdit {
  const changedIps = [...endpoints.added, ...endpoints.removed].flatMap(usedIps)
  const concerned = new Set(keys)
  for (const ip of changedIps) for (const key of before.plan.keysByIp.get(ip) ?? []) concerned.add(key)
  const frontends = new Set<Frontend>()
  const suspectIps = new Set(changedIps)
  for (const key of concerned) {
    const route = before.plan.routesByKey.get(key)
    for (const { frontend } of route?.balancers ?? []) frontends.add(frontend)
    for (const ip of route === undefined ? [] : ipsOf(route)) suspectIps.add(ip)
  }
  const routes = new Map<RouteKey, RoutePlan | undefined>()
  for (const key of keys) {
    const route = view.routesByKey.get(key)
    const plan = route && planRoute(route, before.plan.settings)
    routes.set(key, plan)
    for (const { frontend } of plan?.balancers ?? []) frontends.add(frontend)
  }
  const after = {
    ...before,
    plan: planWith(before.plan, routes),
    table: withEndpoints(before.table, endpoints),
    failedKeys: new Set([...before.failedKeys].filter((key) => !concerned.has(key))),
  }
  const suspects = [...suspectIps].flatMap((ip) => after.table.byIp.get(ip) ?? []).filter(({ isRemote }) => isRemote)
  return {
    ...differences(after, [...concerned], frontends),
    suspects: new Set([...before.left.endpoints, ...suspects.map(({ id }) => id)]),
    isFromReading: false,
  }
}

/** From what HNS holds, to everything that the plan says. */
export function rewriteAll(found: Written, keys: readonly RouteKey[]): KernelspaceEdit {
  const { plan, held, table } = found
  const frontends = new Set(held.keys().filter((frontend) => !plan.claimsByFrontend.has(frontend)))
  for (const key of keys) for (const { frontend } of plan.routesByKey.get(key)?.balancers ?? []) frontends.add(frontend)
  const remote = table.byId.values().filter(({ isRemote }) => isRemote)
  return {
    ...differences(found, keys, frontends),
    suspects: new Set(remote.map(({ id }) => id)),
    isFromReading: true,
  }
}

function differences(
  before: Written,
  keys: readonly RouteKey[],
  frontends: ReadonlySet<Frontend>,
): Omit<KernelspaceEdit, 'suspects' | 'isFromReading'> {
  const after = withReclaimed(before, frontends)
  const { plan, held, table } = after
  const freed: HeldBalancer[] = []
  const writes: BalancerWrite[] = []
  const unchanged: BalancerWrite[] = []
  for (const frontend of frontends) {
    const wanted = wantedAt(plan, frontend, after)
    const current = held.get(frontend)
    if (wanted === undefined) {
      if (current !== undefined) freed.push(current)
    } else if (current !== undefined && isAsWanted(current, wanted, table)) unchanged.push({ wanted, held: current })
    else writes.push({ wanted, held: current })
  }
  const all = [...writes, ...unchanged].map(({ wanted }) => wanted)
  return {
    after,
    keys,
    wantedFrontends: all.map(({ frontend }) => frontend),
    mixedKeys: new Set(all.filter(({ hasMixedPorts }) => hasMixedPorts).map(({ key }) => key)),
    newEndpoints: newEndpointsFor(keys, after),
    retries: [...after.left.balancers.values()],
    freed,
    ...rebuilding(plan, writes, unchanged),
  }
}

/** Some that HNS did not let go are wanted again. */
function withReclaimed(written: Written, frontends: ReadonlySet<Frontend>): Written {
  const { plan, held, left } = written
  if (left.balancers.size === 0) return written
  const isReclaimed = ({ frontend }: HeldBalancer) =>
    frontends.has(frontend) && !held.has(frontend) && wantedAt(plan, frontend, written) !== undefined
  const reclaimed = [...left.balancers.values()].filter(isReclaimed)
  const balancers = new Map(left.balancers)
  for (const { id } of reclaimed) balancers.delete(id)
  return {
    ...written,
    held: held.with(new Map(reclaimed.map((balancer) => [balancer.frontend, balancer]))),
    left: { ...left, balancers },
  }
}

/** A Service may wish that all its load balancers go before the first is made anew. */
function rebuilding(
  { routesByKey }: KernelspacePlan,
  writes: readonly BalancerWrite[],
  unchanged: readonly BalancerWrite[],
): Pick<KernelspaceEdit, 'rebuilt' | 'writes'> {
  const keys = new Set(writes.map(({ wanted }) => wanted.key).filter((key) => routesByKey.get(key)?.rebuilds))
  if (keys.size === 0) return { rebuilt: [], writes }
  const isRebuilt = ({ wanted }: BalancerWrite) => keys.has(wanted.key)
  const anew = [...writes, ...unchanged].filter(isRebuilt)
  return {
    rebuilt: anew.flatMap(({ held }) => held ?? []),
    writes: [
      ...writes.filter((write) => !isRebuilt(write)),
      ...anew.map(({ wanted }) => ({ wanted, held: undefined })),
    ],
  }
}

/**
 * Remote, and of no use: nobody needs one for its address, or the pod turned out to be on this node. Those of the other
 * family are the business of its own backend. Of one without an address nobody can tell, and ours have one.
 */
export function isUnused({ plan, table }: Pick<Written, 'plan' | 'table'>, id: string): boolean {
  const endpoint = table.byId.get(id)
  if (endpoint?.isRemote !== true) return false
  const ips = usedIps(endpoint)
  if (ips.length === 0) return false
  return ips.every(
    (ip) => familyOf(ip) === plan.settings.family && (endpointAt(table, ip)?.id !== id || !isNeeded(plan, ip)),
  )
}
