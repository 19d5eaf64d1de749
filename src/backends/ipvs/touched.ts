/** What a sync has to look at: things that may differ between the plan and the kernel. */
import { setIds } from './ip-sets.ts'
import type { SetId } from './ip-sets.ts'
import type { IpvsPlan } from './plan.ts'
import type { ServerId } from './planned-server.ts'
import type { RoutePlan } from './route-plan.ts'
import type { Written } from './written.ts'

export interface Scope {
  readonly servers: Iterable<ServerId>
  /** Those of the set of addresses stand for the addresses on the link, too. */
  entries(set: SetId): Iterable<string>
  readonly outRules: Iterable<string>
}

/** Things of some routes. */
export class Touched implements Scope {
  readonly servers = new Set<ServerId>()
  readonly outRules = new Set<string>()
  readonly #entries = new Map<SetId, Set<string>>()

  entries(set: SetId): Iterable<string> {
    return this.#entries.get(set) ?? []
  }

  addEntry(set: SetId, entry: string): void {
    const known = this.#entries.get(set)
    if (known === undefined) this.#entries.set(set, new Set([entry]))
    else known.add(entry)
  }

  addRoute({ servers, entries, outRules }: RoutePlan): void {
    for (const { id } of servers) this.servers.add(id)
    for (const { set, entry } of entries) this.addEntry(set, entry)
    for (const rule of outRules) this.outRules.add(rule)
  }

  /** What another sync could not finish. */
  addLeftovers(leftovers: Touched): void {
    for (const id of leftovers.servers) this.servers.add(id)
    for (const set of setIds) for (const entry of leftovers.entries(set)) this.addEntry(set, entry)
  }
}

/** All that is wanted, and all that is there. Nothing is copied: in a large cluster these are hundreds of thousands. */
export function everything(plan: IpvsPlan, written: Written): Scope {
  return {
    get servers() {
      return union(plan.serverIds, written.serversById.keys(), (id) => plan.server(id) !== undefined)
    },
    entries(set) {
      const wanted = plan.entries(set)
      const found = written.entries(set)
      const entries = union(wanted, found, (entry) => wanted.has(entry))
      if (set !== 'ipvsIps') return entries
      return union(entries, written.addresses, (ip) => wanted.has(ip) || found.has(ip))
    },
    get outRules() {
      return union(plan.outRules, written.outRules, (rule) => plan.outRules.has(rule))
    },
  }
}

function* union<T>(first: Iterable<T>, second: Iterable<T>, isInFirst: (item: T) => boolean): Generator<T> {
  yield* first
  for (const item of second) if (!isInFirst(item)) yield item
}
