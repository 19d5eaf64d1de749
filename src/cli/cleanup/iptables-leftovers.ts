/** What a proxy left in one iptables. */
import { cleanupTables } from '../../dataplane/iptables/cleanup/cleanup-plan.ts'
import type { IptablesCleanup, LeftoverChain, LeftoverJump } from '../../dataplane/iptables/cleanup/cleanup-plan.ts'
import type { Findings, Leftover } from './leftover.ts'

export function iptablesLeftovers(tool: string, cleanup: IptablesCleanup): Findings {
  return {
    leftovers: cleanupTables.flatMap((table) => [
      ...cleanup.jumps.filter((jump) => jump.table === table).map((jump) => ruleLeftover(tool, jump)),
      ...cleanup.chains.filter((chain) => chain.table === table).flatMap((chain) => chainLeftover(tool, chain)),
    ]),
    problems: cleanup.chains.filter(({ heldBy }) => heldBy.length > 0).map((chain) => heldSentence(tool, chain)),
  }
}

function ruleLeftover(tool: string, { table, chain, rule, reason }: LeftoverJump): Leftover {
  return { kind: 'iptables-rule', tool, table, chain, rule, reason }
}

/** None when the chain must stay and is empty already. */
function chainLeftover(tool: string, { table, chain, ruleCount, reason, heldBy }: LeftoverChain): readonly Leftover[] {
  const isEmptiedOnly = heldBy.length > 0
  if (isEmptiedOnly && ruleCount === 0) return []
  return [{ kind: 'iptables-chain', tool, table, chain, ruleCount, isEmptiedOnly, reason }]
}

function heldSentence(tool: string, { table, chain, heldBy }: LeftoverChain): string {
  const isOne = heldBy.length === 1
  const who = isOne ? 'a foreign rule jumps' : `${heldBy.length} foreign rules jump`
  const rules = heldBy.map(({ chain, rule }) => `-A ${chain} ${rule}`).join('; ')
  return (
    `${tool} ${table}: chain ${chain} stays, but is emptied, because ${who} to it. ` +
    `Delete ${isOne ? 'it' : 'them'} and clean up again: ${rules}`
  )
}
