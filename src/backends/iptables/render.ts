/** A plan as a script for `iptables-restore`, for an empty network namespace: jumps and canaries included. */
import { fullInput } from './full-input.ts'
import type { Written } from './written.ts'

export function renderPlan(plan: Written): string {
  return fullInput(plan, { filter: new Map(), nat: new Map() }).render()
}
