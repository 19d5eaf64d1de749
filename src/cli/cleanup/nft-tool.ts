/** The nft command, as far as a clean-up needs it. */
import type { Exec } from '../../dataplane/exec/exec.ts'
import type { NftFamily } from './leftover.ts'
import { runTool } from './run-tool.ts'

export interface NftTableName {
  readonly family: NftFamily
  readonly table: string
}

export interface NftTableShape {
  readonly chainsByName: ReadonlyMap<string, NftChainShape>
  /** Sets, maps and the like, which iptables never makes. */
  readonly hasOtherObjects: boolean
}

export interface NftChainShape {
  /** `type nat hook input priority 100; policy accept;` for the chains that the kernel calls. */
  readonly hook: string | undefined
  readonly ruleCount: number
}

/** Those of the families that iptables has. */
export async function listNftTables(exec: Exec, signal: AbortSignal): Promise<readonly NftTableName[]> {
  const doing = 'list the tables of nf_tables'
  const printed = await runTool(exec, { program: 'nft', args: ['list', 'tables'], doing }, signal)
  return Array.from(printed.matchAll(/^table (ip6?) (\S+)$/gm), ([, family = '', table = '']) => ({
    family: family as NftFamily,
    table,
  }))
}

export async function nftTableShape(exec: Exec, name: NftTableName, signal: AbortSignal): Promise<NftTableShape> {
  const { family, table } = name
  // Without the elements of sets: how many there are is all the same.
  const args = ['--terse', 'list', 'table', family, table]
  return parseNftTable(
    await runTool(exec, { program: 'nft', args, doing: `read nf_tables ${family} ${table}` }, signal),
  )
}

/** With all that is in it. */
export async function deleteNftTable(exec: Exec, { family, table }: NftTableName, signal: AbortSignal): Promise<void> {
  const doing = `delete nf_tables ${family} ${table}`
  await runTool(exec, { program: 'nft', args: ['delete', 'table', family, table], doing }, signal)
}

/** With its rules. */
export async function deleteNftChain(
  exec: Exec,
  { family, table, chain }: NftTableName & { readonly chain: string },
  signal: AbortSignal,
): Promise<void> {
  const doing = `delete chain ${chain} from nf_tables ${family} ${table}`
  await runTool(exec, { program: 'nft', args: ['delete', 'chain', family, table, chain], doing }, signal)
}

/** Goes by the indentation: an object of the table is one tab in, what belongs to it two. */
export function parseNftTable(printed: string): NftTableShape {
  const chainsByName = new Map<string, { hook: string | undefined; ruleCount: number }>()
  let hasOtherObjects = false
  let chain: { hook: string | undefined; ruleCount: number } | undefined
  for (const line of printed.split('\n')) {
    const opened = /^\t(\S+) (\S+) \{$/.exec(line)
    if (opened !== null) {
      const [, kind, name = ''] = opened
      chain = kind === 'chain' ? { hook: undefined, ruleCount: 0 } : undefined
      if (chain === undefined) hasOtherObjects = true
      else chainsByName.set(name, chain)
    } else if (line.startsWith('\t\t') && chain !== undefined) {
      if (line.startsWith('\t\ttype ')) chain.hook = line.trim()
      else chain.ruleCount++
    }
  }
  return { chainsByName, hasOtherObjects }
}
