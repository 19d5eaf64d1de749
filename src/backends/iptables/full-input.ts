/** Everything at once: for the first sync, after a failure, and to repair what others broke. */
import type { Variant } from '../../dataplane/iptables/iptables.ts'
import { firewallChain } from './fixed-chains.ts'
import { entryOrder } from './entry-order.ts'
import { missingJumps } from '../../dataplane/iptables/language/kernel-state.ts'
import { writeFixedChains, writeOwnChains, writeSharedChains, writeStaleChains } from './plan.ts'
import { renderRule } from '../../dataplane/iptables/language/render-rule.ts'
import { RestoreInput } from '../../dataplane/iptables/language/restore-input.ts'
import type { Ruleset } from './ruleset.ts'
import { staleChains } from './stale-chains.ts'
import { canaryTables, jumps } from './top-chains.ts'
import { topChains } from '../../dataplane/iptables/language/kube-chains.ts'
import type { Written, WrittenRoute } from './written.ts'

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
export function fullInputs(plan: Written, state: Ruleset, variant: Variant): readonly RestoreInput[] {
  const pieceSize = routesPerPiece[variant]
  const routes = [...plan.routesByKey.values()]
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
export function fullInput(plan: Written, state: Ruleset): RestoreInput {
  const input = new RestoreInput()
  writeFoundation(plan, state, input)
  writeOwnChains(plan.routesByKey.values(), input)
  writeEntry(plan, plan.routesByKey.values(), state, input)
  return input
}

function writeFoundation(plan: Written, state: Ruleset, input: RestoreInput): void {
  for (const table of canaryTables) input.declare(table, topChains.canary)
  // The kubelet fills this chain too: when we have nothing to put in, it must exist for our jumps, and stay as it is.
  if (firewallChain(plan.settings) === undefined && !state.filter.has(topChains.firewall))
    input.declare('filter', topChains.firewall)
  writeFixedChains(plan, input)
}

/** What packets meet first, and the end of what nobody meets any more. */
function writeEntry(plan: Written, routes: Iterable<WrittenRoute>, state: Ruleset, input: RestoreInput): void {
  writeSharedChains(plan, routes, input)
  writeStaleChains(staleChains(state, plan), input)
  for (const { table, from, rule } of missingJumps(state, plan.settings.family, jumps))
    input.insertJump(table, from, renderRule(rule))
}
