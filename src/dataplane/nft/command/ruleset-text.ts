/** What `nft list tables` and `nft list table` print. */
import type { TableName } from '../netlink/list-tables.ts'
import type { ChainShape, TableShape } from '../nft-ruleset.ts'

/** Those of the families that iptables has. */
export function parseTableNames(printed: string): readonly TableName[] {
  return Array.from(printed.matchAll(/^table (ip6?) (\S+)$/gm), ([, family, name = '']) => ({
    family: family === 'ip' ? ('ipv4' as const) : ('ipv6' as const),
    name,
  }))
}

/** Goes by the indentation: an object of the table is one tab in, what belongs to it two. */
export function parseTableShape(printed: string): TableShape {
  const chainsByName = new Map<string, { hook: ChainShape['hook']; ruleCount: number }>()
  let hasOtherObjects = false
  let chain: { hook: ChainShape['hook']; ruleCount: number } | undefined
  for (const line of printed.split('\n')) {
    const opened = /^\t(\S+) (\S+) \{$/.exec(line)
    if (opened !== null) {
      const [, kind, name = ''] = opened
      chain = kind === 'chain' ? { hook: undefined, ruleCount: 0 } : undefined
      if (chain === undefined) hasOtherObjects = true
      else chainsByName.set(name, chain)
    } else if (line.startsWith('\t\t') && chain !== undefined) {
      if (line.startsWith('\t\ttype ')) chain.hook = parseHook(line)
      else chain.ruleCount++
    }
  }
  return { chainsByName, hasOtherObjects }
}

/** `type nat hook input priority 100; policy accept;` */
function parseHook(line: string): ChainShape['hook'] {
  const [, name = '', policy = ''] = / hook (\S+) .*; policy (\w+);$/.exec(line) ?? []
  return { name, policy }
}
