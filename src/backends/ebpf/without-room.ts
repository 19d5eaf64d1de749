/**
 * Routes that the tables had no room for are left to the packets. They are tried again when less is in use than there was when
 * they were tried last, and not with every change of another route: there may be thousands of them.
 */
import type { RouteKey } from '../../core/route.ts'
import type { Family } from '../../net/ip.ts'
import type { SocketRoute } from './frontends-of.ts'
import type { SocketPlan } from './plan.ts'
import { isLessInUse, mostOf } from './sizes.ts'
import type { Needs } from './sizes.ts'

type Routes = ReadonlyMap<RouteKey, SocketRoute | undefined>

export class WithoutRoom {
  /** What was in use when some were tried. */
  readonly #usedByFamily = new Map<Family, Needs>()

  /** Those that changed, and those that may have room now. */
  withRetries(family: Family, changed: Routes, { withoutRoom, routesByKey }: SocketPlan, used: Needs): Routes {
    const before = this.#usedByFamily.get(family)
    if (withoutRoom.size === 0 || (before !== undefined && !isLessInUse(used, before))) return changed
    const routes = new Map(changed)
    for (const key of withoutRoom) if (!routes.has(key)) routes.set(key, routesByKey.get(key)?.route)
    return routes
  }

  /**
   * `before` and `after` these were tried. What changed was there twice meanwhile, as it was and as it is, and is so with the next
   * change as well: that is no room for others.
   */
  note(family: Family, tried: Routes, { withoutRoom }: SocketPlan, before: Needs, after: Needs): void {
    for (const key of tried.keys())
      if (withoutRoom.has(key)) {
        this.#usedByFamily.set(family, mostOf(before, after))
        return
      }
  }
}
