/** What a sync has to look at: things that may differ between the plan and the kernel. */
import { setIds } from './ip-sets.ts'
import type { SetId } from './ip-sets.ts'
import type { ServerId } from './planned-server.ts'
import type { RoutePlan } from './route-plan.ts'
import type { Written } from './written.ts'

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

  /** Everything that was written. */
  addWritten(written: Written): void {
    for (const id of written.serversById.keys()) this.servers.add(id)
    for (const set of setIds) for (const entry of written.entries(set)) this.entries(set).add(entry)
    for (const ip of written.addresses) this.entries('ipvsIps').add(ip)
    for (const rule of written.outRules) this.outRules.add(rule)
  }

  /** What another sync could not finish. */
  addLeftovers(leftovers: Touched): void {
    for (const id of leftovers.servers) this.servers.add(id)
    for (const set of setIds) for (const entry of leftovers.entries(set)) this.entries(set).add(entry)
  }
}
