/** What a proxy left in nf_tables besides the rules themselves. */
import type { IptablesCleanup } from '../../dataplane/iptables/cleanup/cleanup-plan.ts'
import { kernelChains, proxyChainReason } from '../../dataplane/iptables/cleanup/cleanup-names.ts'
import type { Table } from '../../dataplane/iptables/iptables.ts'
import type { Leftover, NftTableLeftover } from './leftover.ts'
import type { NftChainShape, NftTableName, NftTableShape } from './nft-tool.ts'

/** A table that iptables-nft uses. */
export interface IptablesTableName extends NftTableName {
  readonly table: Table
}

const modeTables: Readonly<Record<string, string>> = {
  'kube-proxy': 'all that the nftables mode of kube-proxy makes',
  fairlead: 'all that the nftables mode of Fairlead makes',
}

/** The tables of the nftables mode, which nobody else uses. */
export function modeTableLeftovers(tables: readonly NftTableName[]): readonly NftTableLeftover[] {
  return tables.flatMap(({ family, table }) => {
    const reason = modeTables[table]
    return reason === undefined ? [] : [{ kind: 'nft-table', family, table, reason }]
  })
}

/**
 * iptables-nft makes a table, and in it the chains that the kernel calls, when the first rule needs them, and never
 * takes them away. Those that hold nothing but what the clean-up removes go too.
 */
export function emptyLeftovers(
  tool: string,
  { family, table }: IptablesTableName,
  shape: NftTableShape,
  cleanup: IptablesCleanup,
): readonly Leftover[] {
  const jumpCounts = new Map<string, number>()
  for (const jump of cleanup.jumps)
    if (jump.table === table) jumpCounts.set(jump.chain, (jumpCounts.get(jump.chain) ?? 0) + 1)
  const goingChains = new Set(
    cleanup.chains.filter((chain) => chain.table === table && chain.heldBy.length === 0).map(({ chain }) => chain),
  )
  const isEmptied = ([chain, { hook, ruleCount }]: readonly [string, NftChainShape]) =>
    isIptablesHook(chain, hook) && ruleCount === (jumpCounts.get(chain) ?? 0)

  const others = [...shape.chainsByName].filter(([chain]) => !goingChains.has(chain))
  const isTableEmpty = !shape.hasOtherObjects && others.every(isEmptied)
  // In a table that stays, only a jump of ours tells that a chain was made for it.
  const emptied = isTableEmpty ? others : others.filter((chain) => jumpCounts.has(chain[0]) && isEmptied(chain))
  const reason = 'made by iptables-nft; empty after the clean-up'
  return [
    ...emptied.map(([chain]): Leftover => ({ kind: 'nft-chain', tool, family, table, chain, reason })),
    ...(isTableEmpty ? [{ kind: 'empty-nft-table' as const, family, table, reason }] : []),
  ]
}

/** With another policy, or at another hook, an empty chain still does something, or is somebody's. */
function isIptablesHook(chain: string, hook: string | undefined): boolean {
  if (hook === undefined || !kernelChains.has(chain)) return false
  return hook.includes(` hook ${chain.toLowerCase()} `) && hook.endsWith('; policy accept;')
}

/** Chains of a proxy in a table that iptables cannot read, or is not there to read. */
export function unreadableProblem(name: IptablesTableName, shape: NftTableShape, why: string): string | undefined {
  const { family, table } = name
  const ours = [...shape.chainsByName.keys()].filter((chain) => proxyChainReason(table, chain) !== undefined)
  if (ours.length === 0) return undefined
  return `nf_tables: table ${family} ${table} holds chains of a proxy (${ours.slice(0, 3).join(', ')}), but ${why}`
}
