/** The restore input that puts back what others changed, and leaves alone what they did not. */
import type { Damage } from './damage.ts'
import { entryOrder } from './entry-order.ts'
import { fixedChains } from './fixed-chains.ts'
import { writeSharedChains, writeStaleChains } from './plan.ts'
import { renderRule } from '../../dataplane/iptables/language/render-rule.ts'
import { renderChain } from '../../dataplane/iptables/language/rendered-chain.ts'
import { RestoreInput } from '../../dataplane/iptables/language/restore-input.ts'
import { topChains } from '../../dataplane/iptables/language/kube-chains.ts'
import type { Table } from '../../dataplane/iptables/language/kube-chains.ts'
import type { Written } from './written.ts'

export function repairInput(written: Written, { jumps, chains, stale }: Damage): RestoreInput {
  const input = new RestoreInput()
  const isDamaged = (table: Table, chain: string) => chains.has(`${table}/${chain}`)
  for (const table of ['filter', 'nat'] as const)
    if (isDamaged(table, topChains.canary)) input.declare(table, topChains.canary)
  for (const { table, chain } of fixedChains(written.settings))
    if (isDamaged(table, chain.name)) input.fill(table, renderChain(chain))
  for (const { rendered } of written.routesByKey.values())
    for (const chain of rendered.chains) if (isDamaged('nat', chain.name)) input.fill('nat', chain)
  writeSharedChains(written, entryOrder([...written.routesByKey.values()]), input, isDamaged)
  writeStaleChains(stale, input)
  for (const { table, from, rule } of jumps) input.insertJump(table, from, renderRule(rule))
  return input
}
