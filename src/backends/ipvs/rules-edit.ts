/** What to change in the iptables rules, and how to tell iptables-restore. */
import { missingJumps } from '../../dataplane/iptables/language/kernel-state.ts'
import type { KernelState } from '../../dataplane/iptables/language/kernel-state.ts'
import type { Jump } from '../../dataplane/iptables/language/kube-chains.ts'
import { renderRule } from '../../dataplane/iptables/language/render-rule.ts'
import { RestoreInput } from '../../dataplane/iptables/language/restore-input.ts'
import type { PlacedChain } from './fixed-chains.ts'
import type { IpvsPlan } from './plan.ts'
import { ipvsChains, ipvsJumps } from './top-chains.ts'

export interface RulesEdit {
  /** Filled anew. */
  readonly chains: readonly PlacedChain[]
  /** Of filter/KUBE-IPVS-OUT-FILTER, whose rules come and go one by one. */
  readonly out: { readonly isEmptied: boolean; readonly removed: readonly string[]; readonly added: readonly string[] }
  readonly jumps: readonly Jump[]
}

/** Everything, and the jumps that are missing. */
export function allRules({ chains, settings }: IpvsPlan, outRules: readonly string[], state: KernelState): RulesEdit {
  return {
    chains,
    out: { isEmptied: true, removed: [], added: outRules },
    jumps: missingJumps(state, settings.family, ipvsJumps),
  }
}

/** There are few chains, and all plans have the same ones. */
export function changedChains(before: IpvsPlan, after: IpvsPlan): readonly PlacedChain[] {
  if (before.chains === after.chains) return []
  return after.chains.filter(({ chain }, index) => before.chains[index]?.chain.lines !== chain.lines)
}

export function rulesInput({ chains, out, jumps }: RulesEdit): RestoreInput {
  const input = new RestoreInput()
  for (const { table, chain } of chains) input.fill(table, chain)
  if (out.isEmptied) input.declare('filter', ipvsChains.out)
  for (const rule of out.removed) input.delete('filter', ipvsChains.out, rule)
  for (const rule of out.added) input.append('filter', ipvsChains.out, rule)
  for (const { table, from, rule } of jumps) input.insertJump(table, from, renderRule(rule))
  return input
}
