/** Compares the portals that we wrote with what the kernel holds, and names the first thing that differs. */
import { canonicalRule } from '../../../dataplane/iptables/canonical-rule.ts'
import type { KernelState } from '../../../dataplane/iptables/language/kernel-state.ts'
import { SharedRulesComparison } from '../../../dataplane/iptables/language/shared-rules-comparison.ts'
import { placedChains } from './chains.ts'
import { misplacedJumps } from './jumps.ts'
import { nextTurn } from '../../../dataplane/next-turn.ts'
import type { PortalPlan } from './plan.ts'

/** Routes compared before others get a turn on the event loop. */
const batchSize = 500

export async function findPortalDrift(
  { settings: { family }, portalsByKey }: PortalPlan,
  state: KernelState,
): Promise<string | undefined> {
  const misplaced = misplacedJumps(state, family)
  if (misplaced !== undefined) return misplaced
  const rules = new SharedRulesComparison(placedChains)
  let compared = 0
  for (const { rendered } of portalsByKey.values()) {
    if (++compared % batchSize === 0) await nextTurn()
    for (const { table, chain, rule } of rendered.shared) rules.add(table, chain, canonicalRule(rule, family))
  }
  return rules.compare(state)
}
