/** A plan as a script for `iptables-restore`, for an empty network namespace: jumps and canaries included. */
import { fullInput } from './full-input.ts'
import type { IptablesPlan } from './plan.ts'
import { emptyRuleset } from './ruleset.ts'

export function renderPlan(plan: IptablesPlan): string {
  return fullInput(plan, emptyRuleset).render()
}
