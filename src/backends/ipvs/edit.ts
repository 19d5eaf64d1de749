/** What to send, so that the kernel holds what a plan says: a value, which changes nothing. */
import type { NodeView } from '../../core/backend.ts'
import type { RouteKey } from '../../core/route.ts'
import type { KernelState as RulesState } from '../../dataplane/iptables/language/kernel-state.ts'
import { heldOf, noDeviations, surplusServers, surplusTexts, withDeviations } from './held.ts'
import type { Deviations, Held, HeldServer, Written } from './held.ts'
import { setIds } from './ip-sets.ts'
import type { SetId } from './ip-sets.ts'
import { plannedServer, planWith } from './plan.ts'
import type { IpvsPlan } from './plan.ts'
import type { ServerId } from './planned-server.ts'
import { planRoute } from './route-plan.ts'
import type { RoutePlan } from './route-plan.ts'
import { changedChains, differingRules } from './rules-edit.ts'
import type { RulesEdit } from './rules-edit.ts'
import { serverEdit } from './server-edit.ts'
import type { EditContext, ServerEdit } from './server-edit.ts'

export interface IpvsEdit {
  /** What is true when the kernel has taken all of it. */
  readonly after: Written
  /** Whether it starts from what was just read. Otherwise it trusts what was written, and others may have changed that. */
  readonly isFromReading: boolean
  readonly keys: Iterable<RouteKey>
  /** All that were looked at. */
  readonly serverIds: readonly ServerId[]
  readonly servers: readonly ServerEdit[]
  readonly unwantedServers: readonly { readonly id: ServerId; readonly server: HeldServer }[]
  readonly addresses: { readonly added: readonly string[]; readonly removed: readonly string[] }
  /** In the order to send them. */
  readonly entries: readonly EntryEdit[]
  readonly rules: RulesEdit
}

interface EntryEdit {
  readonly kind: 'add' | 'delete'
  readonly set: SetId
  readonly entry: string
}

/** From what was written to the same with other routes. The cost follows the size of these routes. */
export function editIpvs(before: Written, view: NodeView, keys: readonly RouteKey[], context: EditContext): IpvsEdit {
  const routes = new Map<RouteKey, RoutePlan | undefined>()
  const concerned: RoutePlan[] = []
  for (const key of keys) {
    const route = view.routesByKey.get(key)
    const after = route && planRoute(route, before.plan.settings)
    routes.set(key, after)
    for (const side of [before.plan.routesByKey.get(key), after]) if (side !== undefined) concerned.push(side)
  }
  // Everything is read from the plan before, then from the one after: taking turns would be slow.
  const scope = scopeOf(concerned, heldOf(before), surplusOf(before))
  const { deviations } = before
  const plan = planWith(before.plan, routes)
  const out = changesOf(scope.outRules, (rule) => plan.outRules.has(rule))
  return {
    after: { plan, deviations: isNone(deviations) ? deviations : withDeviations(deviations, forgetting(scope)) },
    isFromReading: false,
    keys,
    ...differences(scope, plan, context),
    rules: { chains: changedChains(before.plan, plan), out: { isEmptied: false, ...out }, jumps: [] },
  }
}

/** From what is in the kernel. */
export function rewriteIpvs(
  found: Held,
  rules: RulesState,
  plan: IpvsPlan,
  keys: readonly RouteKey[],
  context: EditContext,
): IpvsEdit {
  const routes = keys.flatMap((key) => plan.routesByKey.get(key) ?? [])
  const everything: Surplus = {
    servers: found.serverIds(),
    entries: (set) => found.entries(set).keys(),
    addresses: found.addresses.keys(),
  }
  const scope = scopeOf(routes, found, everything)
  return {
    after: { plan, deviations: noDeviations() },
    isFromReading: true,
    keys,
    ...differences(scope, plan, context),
    rules: differingRules(plan, [...scope.outRules.keys()], rules),
  }
}

/** Things that may have to go, although the routes do not name them. */
interface Surplus {
  readonly servers: Iterable<ServerId>
  entries(set: SetId): Iterable<string>
  readonly addresses: Iterable<string>
}

/** What an earlier edit could not remove is tried again by each. */
function surplusOf(written: Written): Surplus {
  const { entries, addresses } = written.deviations
  return {
    servers: surplusServers(written),
    entries: (set) => surplusTexts(entries[set]),
    addresses: surplusTexts(addresses),
  }
}

/** Things that may differ, and whether the kernel holds them. */
interface Scope {
  readonly servers: ReadonlyMap<ServerId, HeldServer | undefined>
  readonly entries: ReadonlyMap<SetId, ReadonlyMap<string, boolean>>
  readonly addresses: ReadonlyMap<string, boolean>
  readonly outRules: ReadonlyMap<string, boolean>
}

function scopeOf(routes: readonly RoutePlan[], held: Held, surplus: Surplus): Scope {
  const servers = new Map<ServerId, HeldServer | undefined>()
  const entries = new Map<SetId, Map<string, boolean>>()
  const addresses = new Map<string, boolean>()
  const outRules = new Map<string, boolean>()
  const addServer = (id: ServerId) => void (servers.has(id) || servers.set(id, held.server(id)))
  const addAddress = (ip: string) => void (addresses.has(ip) || addresses.set(ip, held.addresses.has(ip)))
  const addEntry = (set: SetId, entry: string) => {
    let ofSet = entries.get(set)
    if (ofSet === undefined) entries.set(set, (ofSet = new Map()))
    if (!ofSet.has(entry)) ofSet.set(entry, held.entries(set).has(entry))
    if (set === 'ipvsIps') addAddress(entry)
  }
  for (const route of routes) {
    for (const { id } of route.servers) addServer(id)
    for (const { set, entry } of route.entries) addEntry(set, entry)
    for (const rule of route.outRules) if (!outRules.has(rule)) outRules.set(rule, held.outRules.has(rule))
  }
  for (const id of surplus.servers) addServer(id)
  for (const set of setIds) for (const entry of surplus.entries(set)) addEntry(set, entry)
  for (const ip of surplus.addresses) addAddress(ip)
  return { servers, entries, addresses, outRules }
}

function differences(
  scope: Scope,
  plan: IpvsPlan,
  context: EditContext,
): Pick<IpvsEdit, 'serverIds' | 'servers' | 'unwantedServers' | 'addresses' | 'entries'> {
  const servers: ServerEdit[] = []
  const unwantedServers: { id: ServerId; server: HeldServer }[] = []
  for (const [id, server] of scope.servers) {
    const wanted = plannedServer(plan, id)
    if (wanted !== undefined) {
      const edit = serverEdit(wanted, server, context.draining)
      if (edit !== undefined) servers.push(edit)
    } else if (server !== undefined && !context.isExcluded(server.ip)) unwantedServers.push({ id, server })
  }
  return {
    serverIds: [...scope.servers.keys()],
    servers,
    unwantedServers,
    addresses: changesOf(scope.addresses, (ip) => plan.entries.ipvsIps.has(ip)),
    entries: entryEdits(scope.entries, plan),
  }
}

/**
 * What comes is added before anything goes: an entry that moves to another set must not be missing in between. Each way
 * a set that refuses strangers lets go before those that say who is none, and takes after them.
 */
function entryEdits(scope: Scope['entries'], plan: IpvsPlan): readonly EntryEdit[] {
  const additions: EntryEdit[][] = []
  const removals: EntryEdit[][] = []
  for (const set of setIds) {
    const { added, removed } = changesOf(scope.get(set) ?? new Map(), (entry) => plan.entries[set].has(entry))
    additions.push(added.map((entry) => ({ kind: 'add', set, entry })))
    removals.push(removed.map((entry) => ({ kind: 'delete', set, entry })))
  }
  return [...additions, ...removals.reverse()].flat()
}

function changesOf(
  scope: ReadonlyMap<string, boolean>,
  isWanted: (text: string) => boolean,
): { readonly added: readonly string[]; readonly removed: readonly string[] } {
  const added: string[] = []
  const removed: string[] = []
  for (const [text, isThere] of scope) {
    if (isWanted(text) === isThere) continue
    if (isThere) removed.push(text)
    else added.push(text)
  }
  return { added, removed }
}

/** The kernel is expected to take what this edit sends, and so to deviate there no more. */
function forgetting({ servers, entries, addresses, outRules }: Scope) {
  const nothing = <K>(keys: Iterable<K>) => new Map(Array.from(keys, (key) => [key, undefined]))
  return {
    serversById: nothing(servers.keys()),
    entries: new Map(Array.from(entries, ([set, ofSet]) => [set, nothing(ofSet.keys())])),
    addresses: nothing(addresses.keys()),
    outRules: nothing(outRules.keys()),
  }
}

function isNone({ serversById, entries, addresses, outRules }: Deviations): boolean {
  return [serversById, addresses, outRules, ...Object.values(entries)].every(({ size }) => size === 0)
}
