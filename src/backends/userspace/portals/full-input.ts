/** All portals at once: for the first sync, after a failure, and to repair what others broke. */
import type { KernelState } from '../../../dataplane/iptables/language/kernel-state.ts'
import { RestoreInput } from '../../../dataplane/iptables/language/restore-input.ts'
import { placedChains } from './chains.ts'
import { writeJumps } from './jumps.ts'
import type { PortalPlan } from './plan.ts'

export function fullInput({ settings, portalsByKey }: PortalPlan, state: KernelState): RestoreInput {
  const input = new RestoreInput()
  for (const { table, chain } of placedChains) input.declare(table, chain)
  for (const { rendered } of portalsByKey.values())
    for (const { table, chain, rule } of rendered.shared) input.append(table, chain, rule)
  writeJumps(state, settings.family, input)
  return input
}
