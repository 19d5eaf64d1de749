/** Chains of Services that are not in the plan, also those that an earlier process left behind. */
import type { RulesByChain } from '../../dataplane/iptables/save-text.ts'
import type { IptablesPlan } from './plan.ts'
import type { Ruleset } from './ruleset.ts'
import { topChains } from '../../dataplane/iptables/language/kube-chains.ts'

export interface StaleChain {
  readonly name: string
  /** A rule of somebody else jumps to it. The kernel keeps such a chain, so it can only be emptied. */
  readonly isHeld: boolean
}

export function staleChains({ nat, serviceChains }: Ruleset, plan: IptablesPlan): readonly StaleChain[] {
  const stale = new Set(serviceChains.keys())
  if (stale.size === 0) return []
  for (const { rendered } of plan.routesByKey.values()) for (const { name } of rendered.chains) stale.delete(name)
  const held = targetsOfOthers(nat)
  return [...stale].map((name) => ({ name, isHeld: held.has(name) }))
}

/** Where rules outside of our own chains jump to. */
function targetsOfOthers(nat: RulesByChain): ReadonlySet<string> {
  const targets = new Set<string>()
  for (const [chain, rules] of nat) {
    if (ownNatChains.has(chain)) continue
    for (const rule of rules) {
      const target = / -[jg] (\S+)$/.exec(` ${rule}`)?.[1]
      if (target !== undefined) targets.add(target)
    }
  }
  return targets
}

const ownNatChains: ReadonlySet<string> = new Set(Object.values(topChains))
