/** A plan as a script for `iptables-restore`, for an empty network namespace: jumps and canaries included. */
import { fullInput } from './full-input.ts'
import { emptyRuleset } from './ruleset.ts'
import type { Written } from './written.ts'

export function renderPlan(plan: Written): string {
  return fullInput(plan, emptyRuleset).render()
}
