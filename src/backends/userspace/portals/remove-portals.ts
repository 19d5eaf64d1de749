/** Takes the portals away. Without the process that listens behind them they would lead to whoever has the port next. */
import type { Iptables } from '../../../dataplane/iptables/iptables.ts'
import { cleanupInput } from '../../../dataplane/iptables/cleanup/cleanup-input.ts'
import { planCleanup } from '../../../dataplane/iptables/cleanup/cleanup-plan.ts'
import { ownChainFinder } from '../../../dataplane/iptables/cleanup/own-chain.ts'
import { readKernelState } from '../../../dataplane/iptables/language/kernel-state.ts'
import { ownChains } from '../leftovers.ts'
import { placedChains } from './chains.ts'

export async function removePortals(iptables: Iptables, signal: AbortSignal): Promise<void> {
  const state = await readKernelState(iptables, signal)
  const found = planCleanup({ rules: new Map(Object.entries(state)) }, iptables.family, ownChainFinder(ownChains))
  const isOurs = (table: string, chain: string) =>
    placedChains.some((placed) => placed.table === table && placed.chain === chain)
  // Nat first: what no portal takes any more needs no firewall.
  for (const table of ['nat', 'filter'] as const) {
    const chains = found.chains.filter((chain) => chain.table === table && isOurs(table, chain.chain))
    const jumps = found.jumps.filter(
      (jump) => jump.table === table && chains.some(({ chain }) => leadsTo(jump.rule, chain)),
    )
    if (chains.length === 0) continue
    const emptied = chains.map(({ chain, heldBy }) => ({ chain, isEmptiedOnly: heldBy.length > 0 }))
    await iptables.restore(cleanupInput({ table, jumps, chains: emptied }), signal)
  }
}

function leadsTo(rule: string, chain: string): boolean {
  return ` ${rule}`.endsWith(` -j ${chain}`)
}
