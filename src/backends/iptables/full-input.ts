/** Everything at once: for the first sync, after a failure, and when too much is broken to put back piece by piece. */
import type { Variant } from '../../dataplane/iptables/iptables.ts'
import { missingJumps } from '../../dataplane/iptables/language/kernel-state.ts'
import { topChains } from '../../dataplane/iptables/language/kube-chains.ts'
import type { Table } from '../../dataplane/iptables/language/kube-chains.ts'
import { renderRule } from '../../dataplane/iptables/language/render-rule.ts'
import { renderChain } from '../../dataplane/iptables/language/rendered-chain.ts'
import { RestoreInput } from '../../dataplane/iptables/language/restore-input.ts'
import type { RestoreScript } from '../../dataplane/iptables/language/restore-input.ts'
import { firewallChain, fixedChains, nodePortTail } from './fixed-chains.ts'
import type { IptablesPlan, PlannedRoute } from './plan.ts'
import type { Ruleset } from './ruleset.ts'
import { staleChains } from './stale-chains.ts'
import type { StaleChain } from './stale-chains.ts'
import { canaryTables, jumps, sharedChains } from './top-chains.ts'

/**
 * iptables-nft-restore 1.8.9 walks a list of all chains of its input for each line: 10,000 Services in one input take
 * minutes of CPU time, in pieces of this many seconds. The legacy tool exchanges the whole table with the kernel each
 * time, so there it is one piece.
 */
const routesPerPiece: Readonly<Record<Variant, number>> = { nf_tables: 250, legacy: Infinity }

/**
 * To be restored one after the other. Chains come before what jumps to them, and the chains that every packet walks
 * change in the last piece, in one step; so no Service is out of reach in between.
 */
export function fullInputs(plan: IptablesPlan, state: Ruleset, variant: Variant): readonly RestoreScript[] {
  const pieceSize = routesPerPiece[variant]
  const routes = plan.routesByKey.values()
  if (routes.length <= pieceSize) return [fullInput(plan, state)]
  const foundation = new RestoreInput()
  writeFoundation(plan, state, foundation)
  const pieces = [foundation]
  for (let start = 0; start < routes.length; start += pieceSize) {
    const piece = new RestoreInput()
    writeOwnChains(routes.slice(start, start + pieceSize), piece)
    pieces.push(piece)
  }
  const last = new RestoreInput()
  writeEntry(plan, entryOrder(routes), state, last)
  return [...pieces, last]
}

/** All of it in one input. */
export function fullInput(plan: IptablesPlan, state: Ruleset): RestoreScript {
  const input = new RestoreInput()
  const routes = plan.routesByKey.values()
  writeFoundation(plan, state, input)
  writeOwnChains(routes, input)
  writeEntry(plan, routes, state, input)
  return input
}

function writeFoundation({ settings }: IptablesPlan, state: Ruleset, input: RestoreInput): void {
  for (const table of canaryTables) input.declare(table, topChains.canary)
  // The kubelet fills this chain too: when we have nothing to put in, it must exist for our jumps, and stay as it is.
  if (firewallChain(settings) === undefined && !state.filter.has(topChains.firewall))
    input.declare('filter', topChains.firewall)
  for (const { table, chain } of fixedChains(settings)) input.fill(table, renderChain(chain))
}

/** They jump to fixed chains and to each other only. */
function writeOwnChains(routes: readonly PlannedRoute[], input: RestoreInput): void {
  for (const { rendered } of routes) for (const chain of rendered.chains) input.fill('nat', chain)
}

/** The chains that packets enter first; then the chains go that no rule leads to any more. */
function writeEntry(plan: IptablesPlan, routes: readonly PlannedRoute[], state: Ruleset, input: RestoreInput): void {
  writeSharedChains(plan, routes, input)
  writeStaleChains(staleChains(state, plan), input)
  for (const { table, from, rule } of missingJumps(state, plan.settings.family, jumps))
    input.insertJump(table, from, renderRule(rule))
}

/** The chains that hold rules of every Service; they jump to the chains of all routes. */
export function writeSharedChains(
  { settings }: IptablesPlan,
  /** All of them, in the order of the rules. */
  routes: readonly PlannedRoute[],
  input: RestoreInput,
  isWanted: (table: Table, chain: string) => boolean = () => true,
): void {
  for (const { table, chain } of sharedChains) if (isWanted(table, chain)) input.declare(table, chain)
  for (const { rendered } of routes)
    for (const { table, chain, rule } of rendered.shared) if (isWanted(table, chain)) input.append(table, chain, rule)
  if (isWanted('nat', topChains.services))
    for (const rule of nodePortTail(settings)) input.append('nat', topChains.services, renderRule(rule))
}

/** Only after all rules of ours that jump to them are gone: the kernel keeps a chain that a rule jumps to. */
export function writeStaleChains(chains: readonly StaleChain[], input: RestoreInput): void {
  for (const { name, isHeld } of chains)
    if (isHeld) input.declare('nat', name)
    else input.deleteChain('nat', name)
}

/** What is asked for most stays on top: the kernel walks these chains from the start. */
const keptInPlace = 100

/**
 * The order of routes in shared chains that iptables-nft-restore takes best. Version 1.8.9 keeps the names of all chains
 * that its input mentions in a sorted list, and walks it from the start for each line. With the last name first, ten
 * thousand rules take a tenth of the time.
 */
export function entryOrder(routes: readonly PlannedRoute[]): readonly PlannedRoute[] {
  const rest = routes.slice(keptInPlace).map((route) => ({ route, hash: hashOf(route) }))
  rest.sort((left, right) => (left.hash < right.hash ? 1 : left.hash > right.hash ? -1 : 0))
  return [...routes.slice(0, keptInPlace), ...rest.map(({ route }) => route)]
}

/** The chains that shared rules jump to end with the same letters. */
function hashOf({ rendered }: PlannedRoute): string {
  return (rendered.chains[0]?.name ?? '').slice(-16)
}
