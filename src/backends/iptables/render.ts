/** A plan as a script for `iptables-restore`, for an empty network namespace: jumps and canaries included. */
import type { IptablesPlan } from './plan.ts'
import { writePlan } from './plan.ts'
import { renderRule } from './render-rule.ts'
import { RestoreInput } from './restore-input.ts'
import { jumps, topChains } from './top-chains.ts'
import { firewallChain } from './fixed-chains.ts'

export function renderPlan(plan: IptablesPlan): string {
  const input = new RestoreInput()
  for (const table of ['mangle', 'filter', 'nat'] as const) input.declare(table, topChains.canary)
  if (firewallChain(plan.settings) === undefined) input.declare('filter', topChains.firewall)
  writePlan(plan, input)
  for (const { table, from, rule } of jumps) input.insert(table, from, renderRule(rule))
  return input.render()
}
