/** The iptables rules of a plan as input for iptables-restore. */
import { missingJumps } from '../../dataplane/iptables/language/kernel-state.ts'
import type { KernelState } from '../../dataplane/iptables/language/kernel-state.ts'
import { renderRule } from '../../dataplane/iptables/language/render-rule.ts'
import { renderChain } from '../../dataplane/iptables/language/rendered-chain.ts'
import type { RenderedChain } from '../../dataplane/iptables/language/rendered-chain.ts'
import { RestoreInput } from '../../dataplane/iptables/language/restore-input.ts'
import type { Table } from '../../dataplane/iptables/language/kube-chains.ts'
import type { ChainContext } from './chain-context.ts'
import { filterChains } from './filter-chains.ts'
import { natChains } from './nat-chains.ts'
import type { IpvsPlan } from './plan.ts'
import { ipvsChains, ipvsJumps } from './top-chains.ts'

export interface PlacedChain {
  readonly table: Table
  readonly chain: RenderedChain
}

/** The chains whose rules do not belong to one Service. There are few, so they are made anew each time. */
export function fixedChains(context: ChainContext): readonly PlacedChain[] {
  return [
    ...natChains(context).map((chain) => ({ table: 'nat' as const, chain: renderChain(chain) })),
    ...filterChains(context).map((chain) => ({ table: 'filter' as const, chain: renderChain(chain) })),
  ]
}

/** All rules, and the jumps that are missing. */
export function fullRules(plan: IpvsPlan, state: KernelState, outRules: Iterable<string>): RestoreInput {
  const input = new RestoreInput()
  for (const { table, chain } of fixedChains(plan)) input.fill(table, chain)
  input.declare('filter', ipvsChains.out)
  for (const rule of outRules) input.append('filter', ipvsChains.out, rule)
  for (const { table, from, rule } of missingJumps(state, plan.settings.family, ipvsJumps))
    input.insertJump(table, from, renderRule(rule))
  return input
}
