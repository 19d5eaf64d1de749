/** What a proxy left in nf_tables besides the rules themselves. */
import type { IptablesCleanup } from '../../backends/iptables/cleanup-plan.ts'
import { kernelChains, proxyChainReason } from '../../backends/iptables/cleanup-names.ts'
import type { Table } from '../../dataplane/iptables/iptables.ts'
import type { Leftover, NftChainLeftover, NftTableLeftover } from './leftover.ts'
import type { NftChainShape, NftTableName, NftTableShape } from './nft-tool.ts'

const modeTables: Readonly<Record<string, string>> = {
  'kube-proxy': 'all that the nftables mode of kube-proxy makes',
  fairlead: 'all that the nftables mode of Fairlead makes',
}

/** The tables of the nftables mode, which nobody else uses. */
export function modeTableLeftovers(tables: readonly NftTableName[]): readonly NftTableLeftover[] {
  return tables.flatMap(({ family, table }) => {
    const reason = modeTables[table]
    return reason === undefined ? [] : [{ kind: 'nft-table', family, table, emptyChains: undefined, reason }]
  })
}

/**
 * iptables-nft makes a table, and in it the chains that the kernel calls, when the first rule needs them, and never
 * takes them away. Those that hold nothing but what the clean-up removes go too.
 */
export function emptyLeftovers(
  name: NftTableName,
  shape: NftTableShape,
  cleanup: IptablesCleanup,
): readonly Leftover[] {
  const { family, table } = name
  const jumpCounts = new Map<string, number>()
  for (const jump of cleanup.jumps)
    if (jump.table === table) jumpCounts.set(jump.chain, (jumpCounts.get(jump.chain) ?? 0) + 1)
  const goingChains = new Set(
    cleanup.chains.filter((chain) => chain.table === table && chain.heldBy.length === 0).map(({ chain }) => chain),
  )
  const isEmptied = (chain: string, { hook, ruleCount }: NftChainShape) =>
    isIptablesHook(chain, hook) && ruleCount === (jumpCounts.get(chain) ?? 0)

  const others = [...shape.chainsByName].filter(([chain]) => !goingChains.has(chain))
  if (!shape.hasOtherObjects && others.every(([chain, shape]) => isEmptied(chain, shape))) {
    const emptyChains = others.map(([chain]) => chain)
    return [{ kind: 'nft-table', family, table, emptyChains, reason: 'made by iptables-nft, and empty then' }]
  }
  return others
    .filter(([chain, shape]) => jumpCounts.has(chain) && isEmptied(chain, shape))
    .map(([chain]): NftChainLeftover => {
      return { kind: 'nft-chain', family, table, chain, reason: 'made by iptables-nft, and empty then' }
    })
}

/** With another policy, or at another hook, an empty chain still does something, or is somebody's. */
function isIptablesHook(chain: string, hook: string | undefined): boolean {
  if (hook === undefined || !kernelChains.has(chain)) return false
  return hook.includes(` hook ${chain.toLowerCase()} `) && hook.endsWith('; policy accept;')
}

/** Chains of a proxy in a table that iptables cannot read, or is not there to read. */
export function unreadableProblem(name: NftTableName, shape: NftTableShape, why: string): string | undefined {
  const { family, table } = name
  const ours = [...shape.chainsByName.keys()].filter((chain) => proxyChainReason(table as Table, chain) !== undefined)
  if (ours.length === 0) return undefined
  return `nf_tables: table ${family} ${table} holds ${ours.length} chains of a proxy (${ours[0]}, …), but ${why}`
}
