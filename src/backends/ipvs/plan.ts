/**
 * What the kernel shall hold for all routes. Routes share things: ports of a Service share an address, two Services may
 * name the same set entry. So everything is counted, and a route can come, change or go at a cost of its own size.
 */
import type { NodeView } from '../../core/backend.ts'
import type { RouteKey } from '../../core/route.ts'
import type { ChainContext } from './chain-context.ts'
import { Counted } from './counted.ts'
import { setIds } from './ip-sets.ts'
import type { SetId } from './ip-sets.ts'
import type { PlannedServer, ServerId } from './planned-server.ts'
import { planRoute } from './route-plan.ts'
import type { RoutePlan } from './route-plan.ts'
import { ServerClaims } from './server-claims.ts'
import type { IpvsSettings } from './settings.ts'
import type { Touched } from './touched.ts'

/** Routes in the order to program them. */
export function planIpvs(
  view: NodeView,
  settings: IpvsSettings,
  order: Iterable<RouteKey> = view.routesByKey.keys(),
): IpvsPlan {
  const plan = new IpvsPlan(settings)
  for (const key of order) {
    const route = view.routesByKey.get(key)
    if (route !== undefined) plan.set(key, planRoute(route, settings))
  }
  return plan
}

export class IpvsPlan implements ChainContext {
  readonly settings: IpvsSettings
  readonly claims = new ServerClaims()
  readonly outRules = new Counted()
  readonly #routesByKey = new Map<RouteKey, RoutePlan>()
  readonly #entries = new Map(setIds.map((id) => [id, new Counted()]))

  constructor(settings: IpvsSettings) {
    this.settings = settings
  }

  get routesByKey(): ReadonlyMap<RouteKey, RoutePlan> {
    return this.#routesByKey
  }

  /** Undefined: the route is gone. What may have changed is added to `touched`. */
  set(key: RouteKey, route: RoutePlan | undefined, touched?: Touched): void {
    const before = this.#routesByKey.get(key)
    if (route === undefined) this.#routesByKey.delete(key)
    else this.#routesByKey.set(key, route)
    // What comes is counted first: a thing that stays is never gone in between.
    for (const { set: id, entry } of route?.entries ?? []) this.entries(id).add(entry)
    for (const { set: id, entry } of before?.entries ?? []) this.entries(id).remove(entry)
    for (const rule of route?.outRules ?? []) this.outRules.add(rule)
    for (const rule of before?.outRules ?? []) this.outRules.remove(rule)
    this.claims.replace(key, before?.servers ?? [], route?.servers ?? [])
    for (const side of [before, route]) if (side !== undefined) touched?.addRoute(side)
  }

  get serverIds(): Iterable<ServerId> {
    return this.claims.ids
  }

  server(id: ServerId): PlannedServer | undefined {
    return this.claims.winner(id)?.server
  }

  entries(set: SetId): Counted {
    const entries = this.#entries.get(set)
    if (entries === undefined) throw new TypeError(`"${set}" is not one of the sets of this mode`)
    return entries
  }

  /** What our link shall hold: by definition the same as one of the sets. */
  get addresses(): Counted {
    return this.entries('ipvsIps')
  }

  isFilled(set: SetId): boolean {
    return this.entries(set).size > 0
  }
}
