/** What proxies left in iptables, and how to remove it. */
import type { Findings, Leftover, Removal } from '../../../core/leftover.ts'
import type { Table } from '../iptables.ts'
import { cleanupInput } from './cleanup-input.ts'
import { cleanupTables } from './cleanup-plan.ts'
import type { LeftoverChain } from './cleanup-plan.ts'
import type { HostIptables } from './host-iptables.ts'
import type { IptablesLook } from './look-into-iptables.ts'
import type { FindOwnChain } from './own-chain.ts'

/** The modes of Fairlead that have this chain. */
export type ModesOfChain = (table: Table, chain: string) => readonly string[]

/** One removal for each table, because iptables-restore is atomic per table. */
export function rulesLeft(looks: readonly IptablesLook[], modesOf: ModesOfChain, findOwnChain: FindOwnChain): Findings {
  return {
    removals: looks.flatMap((look) =>
      cleanupTables.flatMap((table) => removalFrom(look, table, modesOf, findOwnChain)),
    ),
    problems: [
      ...looks.flatMap(({ tool = '', cleanup }) =>
        cleanup.chains.filter(({ heldBy }) => heldBy.length > 0).map((chain) => heldSentence(tool, chain)),
      ),
      ...looks.flatMap(unseenSentence),
    ],
  }
}

/** A rule in a chain that stays, or a chain of a proxy. */
interface RulesLeftover extends Leftover {
  readonly chain: string
  readonly rule?: string
  readonly isEmptiedOnly: boolean
}

function removalFrom(
  look: IptablesLook,
  table: Table,
  modesOf: ModesOfChain,
  findOwnChain: FindOwnChain,
): readonly Removal[] {
  const { tool = '', cleanup, iptables } = look
  const where = `${tool} ${table}`
  const usersOf = (chain: string) => ({
    modes: modesOf(table, chain),
    carriesOpen: findOwnChain(table, chain)?.carriesOpen,
  })
  const jumps = cleanup.jumps.filter((jump) => jump.table === table)
  const chains = cleanup.chains.filter((chain) => chain.table === table)
  const leftovers: readonly RulesLeftover[] = [
    ...jumps.map(({ chain, rule, target, reason }) => {
      const what = `${where}: rule -A ${chain} ${rule}`
      return { what, reason, ...usersOf(target), chain, rule, isEmptiedOnly: false }
    }),
    ...chains.flatMap(({ chain, ruleCount, reason, heldBy }) => {
      const isEmptiedOnly = heldBy.length > 0
      if (isEmptiedOnly && ruleCount === 0) return []
      const rules = ruleCount === 1 ? '1 rule' : `${ruleCount} rules`
      const what = `${where}: ${isEmptiedOnly ? `the ${rules} of chain ${chain}` : `chain ${chain} with ${rules}`}`
      return [{ what, reason, ...usersOf(chain), chain, isEmptiedOnly }]
    }),
  ]
  if (leftovers.length === 0) return []
  const removal: Removal<RulesLeftover> = {
    leftovers,
    async remove(going, signal) {
      const jumpsGoing = going.flatMap(({ chain, rule }) => (rule === undefined ? [] : { chain, rule }))
      const chainsGoing = going.filter(({ rule }) => rule === undefined)
      await iptables.restore(cleanupInput({ table, jumps: jumpsGoing, chains: chainsGoing }), signal)
    },
  }
  return [removal]
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

function unseenSentence({ family, unseenTables }: HostIptables): readonly string[] {
  if (unseenTables.length === 0) return []
  const tool = family === 'ipv4' ? 'iptables-legacy' : 'ip6tables-legacy'
  const tables = unseenTables.join(', ')
  return [`the kernel has legacy iptables tables (${tables}) that cannot be looked at: install ${tool}`]
}
