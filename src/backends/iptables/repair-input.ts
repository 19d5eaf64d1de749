/** The restore input that puts back what others changed, and leaves alone what they did not. */
import { topChains } from '../../dataplane/iptables/language/kube-chains.ts'
import type { Table } from '../../dataplane/iptables/language/kube-chains.ts'
import { renderRule } from '../../dataplane/iptables/language/render-rule.ts'
import { renderChain } from '../../dataplane/iptables/language/rendered-chain.ts'
import { RestoreInput } from '../../dataplane/iptables/language/restore-input.ts'
import type { RestoreScript } from '../../dataplane/iptables/language/restore-input.ts'
import type { Damage } from './damage.ts'
import { fixedChains } from './fixed-chains.ts'
import { entryOrder, writeSharedChains, writeStaleChains } from './full-input.ts'
import type { IptablesPlan } from './plan.ts'

export function repairInput(plan: IptablesPlan, { jumps, chains, stale }: Damage): RestoreScript {
  const input = new RestoreInput()
  const routes = plan.routesByKey.values()
  const isDamaged = (table: Table, chain: string) => chains.has(`${table}/${chain}`)
  for (const table of ['filter', 'nat'] as const)
    if (isDamaged(table, topChains.canary)) input.declare(table, topChains.canary)
  for (const { table, chain } of fixedChains(plan.settings))
    if (isDamaged(table, chain.name)) input.fill(table, renderChain(chain))
  for (const { rendered } of routes)
    for (const chain of rendered.chains) if (isDamaged('nat', chain.name)) input.fill('nat', chain)
  writeSharedChains(plan, entryOrder(routes), input, isDamaged)
  writeStaleChains(stale, input)
  for (const { table, from, rule } of jumps) input.insertJump(table, from, renderRule(rule))
  return input
}
