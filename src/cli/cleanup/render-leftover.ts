import type { Leftover } from './leftover.ts'

/** One line for people: where it is, what it is, and how we know that it is a proxy's. */
export function renderLeftover(leftover: Leftover): string {
  return `${whereAndWhat(leftover)} (${leftover.reason})`
}

function whereAndWhat(leftover: Leftover): string {
  switch (leftover.kind) {
    case 'iptables-rule':
      return `${leftover.tool} ${leftover.table}: rule -A ${leftover.chain} ${leftover.rule}`
    case 'iptables-chain': {
      const { tool, table, chain, ruleCount, isEmptiedOnly } = leftover
      const rules = ruleCount === 1 ? '1 rule' : `${ruleCount} rules`
      return `${tool} ${table}: ${isEmptiedOnly ? `the ${rules} of chain ${chain}` : `chain ${chain} with ${rules}`}`
    }
    case 'nft-chain':
      return `nft ${leftover.family} ${leftover.table}: chain ${leftover.chain}`
    case 'nft-table':
    case 'empty-nft-table':
      return `nft: table ${leftover.family} ${leftover.table}`
    case 'virtual-server':
      return `ipvs: virtual server ${leftover.protocol} ${leftover.address}`
    case 'interface':
    case 'ipset':
      return `${leftover.kind} ${leftover.name}`
    case 'counter':
      return `nfacct: counter ${leftover.name}`
    case 'routing-rule': {
      const { family, mark, table } = leftover
      return `${family} routing: the rule from mark 0x${mark.toString(16)} to table ${table}, and the table`
    }
    default:
      return leftover satisfies never
  }
}
