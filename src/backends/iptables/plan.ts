/** The whole ruleset for a view: what the tables shall hold. */
import type { NodeView } from '../../core/backend.ts'
import type { RouteKey } from '../../core/route.ts'
import { fixedChains, nodePortTail } from './fixed-chains.ts'
import { renderChain } from '../../dataplane/iptables/language/rendered-chain.ts'
import { renderRoute } from './rendered-route.ts'
import { renderRule } from '../../dataplane/iptables/language/render-rule.ts'
import type { RestoreInput } from '../../dataplane/iptables/language/restore-input.ts'
import type { IptablesSettings } from './settings.ts'
import { largeClusterEndpoints } from './settings.ts'
import type { StaleChain } from './stale-chains.ts'
import { sharedChains } from './top-chains.ts'
import { topChains } from '../../dataplane/iptables/language/kube-chains.ts'
import type { Table } from '../../dataplane/iptables/language/kube-chains.ts'
import { Written } from './written.ts'
import type { WrittenRoute } from './written.ts'

/** Routes in the order of nat/KUBE-SERVICES: the kernel walks it, so what is asked for most stands first. */
export function planIptables(
  view: NodeView,
  settings: IptablesSettings,
  order: Iterable<RouteKey> = [...view.routesByKey.keys()].sort(),
): Written {
  let endpoints = 0
  for (const route of view.routesByKey.values()) endpoints += route.endpoints.length
  const options = { settings, isLargeCluster: endpoints > largeClusterEndpoints }
  const plan = new Written(settings)
  for (const key of order) {
    const route = view.routesByKey.get(key)
    if (route !== undefined) plan.set(key, { route, rendered: renderRoute(route, options) })
  }
  return plan
}

/** The chains that do not depend on any Service. */
export function writeFixedChains({ settings }: Written, input: RestoreInput): void {
  for (const { table, chain } of fixedChains(settings)) input.fill(table, renderChain(chain))
}

/** The chains of these routes; they jump to fixed chains and to each other only. */
export function writeOwnChains(routes: Iterable<WrittenRoute>, input: RestoreInput): void {
  for (const { rendered } of routes) for (const chain of rendered.chains) input.fill('nat', chain)
}

/** The chains that hold rules of every Service; they jump to the chains of all routes. */
export function writeSharedChains(
  { settings }: Written,
  /** All of them, in the order of the rules. */
  routes: Iterable<WrittenRoute>,
  input: RestoreInput,
  isWanted: (table: Table, chain: string) => boolean = () => true,
): void {
  for (const { table, chain } of sharedChains) if (isWanted(table, chain)) input.declare(table, chain)
  for (const { rendered } of routes)
    for (const { table, chain, rule } of rendered.shared) if (isWanted(table, chain)) input.append(table, chain, rule)
  if (isWanted('nat', topChains.services))
    for (const rule of nodePortTail(settings)) input.append('nat', topChains.services, renderRule(rule))
}

/** Nothing of ours may jump to them any more, here or in the kernel. */
export function writeStaleChains(chains: readonly StaleChain[], input: RestoreInput): void {
  for (const { name, isHeld } of chains)
    if (isHeld) input.declare('nat', name)
    else input.deleteChain('nat', name)
}
