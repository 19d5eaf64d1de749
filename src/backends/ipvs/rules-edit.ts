/** What to change in the iptables rules, and how to tell iptables-restore. */
import { canonicalRule } from '../../dataplane/iptables/canonical-rule.ts'
import { missingJumps } from '../../dataplane/iptables/language/kernel-state.ts'
import type { KernelState } from '../../dataplane/iptables/language/kernel-state.ts'
import type { Jump } from '../../dataplane/iptables/language/kube-chains.ts'
import { renderRule } from '../../dataplane/iptables/language/render-rule.ts'
import { rulesOf } from '../../dataplane/iptables/language/rendered-chain.ts'
import { RestoreInput } from '../../dataplane/iptables/language/restore-input.ts'
import type { Family } from '../../net/ip.ts'
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

/** Chains that the kernel holds otherwise, and jumps that it lacks. A rule that is right keeps its counters. */
export function differingRules(
  { chains, settings: { family } }: IpvsPlan,
  outRules: readonly string[],
  state: KernelState,
): RulesEdit {
  const isOutRight = holdsOutRules(state, outRules, family)
  return {
    chains: chains.filter((chain) => !holdsChain(state, chain, family)),
    out: { isEmptied: !isOutRight, removed: [], added: isOutRight ? [] : outRules },
    jumps: missingJumps(state, family, ipvsJumps),
  }
}

export function holdsChain(state: KernelState, { table, chain }: PlacedChain, family: Family): boolean {
  const rules = state[table].get(chain.name)
  const wanted = rulesOf(chain).map((rule) => canonicalRule(rule, family))
  return rules?.length === wanted.length && wanted.every((rule, index) => rule === rules[index])
}

/** Their order does not matter. */
function holdsOutRules(state: KernelState, outRules: readonly string[], family: Family): boolean {
  const rules = state.filter.get(ipvsChains.out)
  return rules?.length === outRules.length && outRules.every((rule) => rules.includes(canonicalRule(rule, family)))
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
