/** What a sync has to look at: things that may differ between the plan and the kernel. */
import { setIds } from './ip-sets.ts'
import type { SetId } from './ip-sets.ts'
import type { ServerId } from './planned-server.ts'
import type { RoutePlan } from './route-plan.ts'

export class Touched {
  readonly servers = new Set<ServerId>()
  readonly outRules = new Set<string>()
  readonly #entries = new Map<SetId, Set<string>>(setIds.map((id) => [id, new Set<string>()]))

  entries(set: SetId): Set<string> {
    return this.#entries.get(set) ?? new Set()
  }

  addRoute({ servers, entries, outRules }: RoutePlan): void {
    for (const { id } of servers) this.servers.add(id)
    for (const { set, entry } of entries) this.entries(set).add(entry)
    for (const rule of outRules) this.outRules.add(rule)
  }
}
