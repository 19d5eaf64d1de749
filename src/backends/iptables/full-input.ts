/** Everything at once: for the first sync, after a failure, and to repair what others broke. */
import type { Family } from '../../net/ip.ts'
import { firewallChain } from './fixed-chains.ts'
import { missingJumps, staleChains } from './kernel-state.ts'
import type { KernelState } from './kernel-state.ts'
import { writePlan } from './plan.ts'
import { renderRule } from './render-rule.ts'
import { RestoreInput } from './restore-input.ts'
import { canaryTables, topChains } from './top-chains.ts'
import type { Written } from './written.ts'

export function fullInput(plan: Written, state: KernelState, family: Family): RestoreInput {
  const input = new RestoreInput()
  for (const table of canaryTables) input.declare(table, topChains.canary)
  // The kubelet fills this chain too: when we have nothing to put in, it must exist for our jumps, and stay as it is.
  if (firewallChain(plan.settings) === undefined && !state.filter.has(topChains.firewall))
    input.declare('filter', topChains.firewall)
  writePlan(plan, input)
  for (const chain of staleChains(state, plan)) input.deleteChain('nat', chain)
  for (const { table, from, rule } of missingJumps(state, family)) input.insertJump(table, from, renderRule(rule))
  return input
}
