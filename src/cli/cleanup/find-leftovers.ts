/** Looks for what proxies of any mode left in the kernel. Only reads. */
import type { Findings } from '../../core/leftover.ts'
import { lookIntoIptables } from '../../dataplane/iptables/cleanup/look-into-iptables.ts'
import { ownChainFinder } from '../../dataplane/iptables/cleanup/own-chain.ts'
import { rulesLeft } from '../../dataplane/iptables/cleanup/rules-left.ts'
import type { ModesOfChain } from '../../dataplane/iptables/cleanup/rules-left.ts'
import type { CleanupDoors } from './cleanup-doors.ts'
import { sources } from './sources.ts'

export async function findLeftovers(doors: CleanupDoors, signal: AbortSignal): Promise<Findings> {
  const findOwnChain = ownChainFinder(sources.flatMap(({ ownChains = [] }) => ownChains))
  const looks = await lookIntoIptables(doors.iptables, findOwnChain, signal)
  const foreignRules = looks.flatMap(({ cleanup }) => cleanup.staying.map(({ chain, rule }) => `-A ${chain} ${rule}`))
  const parts = [rulesLeft(looks, modesOfChain(), findOwnChain)]
  // All that follows is used by rules, so it can go only after them.
  for (const source of sources)
    parts.push(await source.findLeftovers({ ...doors, looks, findOwnChain, foreignRules }, signal))
  return {
    removals: parts.flatMap(({ removals }) => removals),
    problems: parts.flatMap(({ problems }) => problems),
    notes: parts.flatMap(({ notes = [] }) => notes),
  }
}

/** Chains that the kubelet makes too are in no list: of all modes, iptables alone uses them. */
export function modesOfChain(): ModesOfChain {
  const finders = sources.flatMap(({ mode, ownChains = [] }) =>
    mode === undefined ? [] : [{ mode, find: ownChainFinder(ownChains) }],
  )
  return (table, chain) => {
    const modes = finders.filter(({ find }) => find(table, chain) !== undefined).map(({ mode }) => mode)
    return modes.length === 0 ? ['iptables'] : modes
  }
}
