/** What could not be programmed, and which routes that leaves without service. */
import type { SyncReport } from '../../core/backend.ts'
import type { RouteKey } from '../../core/route.ts'
import type { SetId } from './ip-sets.ts'
import type { IpvsPlan } from './plan.ts'
import type { ServerId } from './planned-server.ts'
import type { RoutePlan } from './route-plan.ts'

export class Failures {
  readonly servers = new Map<ServerId, string>()
  readonly addresses = new Map<string, string>()
  readonly outRules = new Map<string, string>()
  readonly #entries = new Map<string, string>()

  entryFailed(set: SetId, entry: string, reason: string): void {
    this.#entries.set(`${set} ${entry}`, reason)
  }

  /** For these routes, and for those that lost one of these servers to another route. */
  report(plan: IpvsPlan, keys: Iterable<RouteKey>, touchedServers: Iterable<ServerId>): SyncReport['failed'] {
    const reasonsByKey = new Map<RouteKey, string>()
    if (!this.#isEmpty)
      for (const key of keys) {
        const route = plan.routesByKey.get(key)
        const reason = route && this.#reasonFor(route)
        if (reason !== undefined) reasonsByKey.set(key, reason)
      }
    for (const id of touchedServers)
      for (const { key } of plan.claims.losers(id))
        if (!reasonsByKey.has(key)) reasonsByKey.set(key, lostTo(id, plan.claims.winner(id)?.key))
    return Array.from(reasonsByKey, ([key, reason]) => ({ key, reason }))
  }

  get #isEmpty(): boolean {
    return this.servers.size + this.addresses.size + this.outRules.size + this.#entries.size === 0
  }

  #reasonFor({ servers, entries, outRules }: RoutePlan): string | undefined {
    for (const { id, ip, isBound } of servers) {
      const reason = this.servers.get(id) ?? (isBound ? this.addresses.get(ip) : undefined)
      if (reason !== undefined) return reason
    }
    for (const { set, entry } of entries) {
      const reason = this.#entries.get(`${set} ${entry}`)
      if (reason !== undefined) return reason
    }
    return outRules.map((rule) => this.outRules.get(rule)).find((reason) => reason !== undefined)
  }
}

function lostTo(id: ServerId, winner: RouteKey | undefined): string {
  return `${id} is an address of ${winner} already: give one of the two Services another port or address`
}
