/** Reads nf_tables with nft: its own tables, and those that iptables-nft keeps in it. */
import { cleanupTables } from '../../backends/iptables/cleanup-plan.ts'
import type { IptablesCleanup } from '../../backends/iptables/cleanup-plan.ts'
import type { Exec } from '../../dataplane/exec/exec.ts'
import type { Family } from '../../net/ip.ts'
import type { Findings, Leftover, NftFamily } from './leftover.ts'
import type { IptablesLook } from './look-into-iptables.ts'
import { emptyLeftovers, modeTableLeftovers, unreadableProblem } from './nft-leftovers.ts'
import type { IptablesTableName } from './nft-leftovers.ts'
import { listNftTables, nftTableShape } from './nft-tool.ts'
import type { NftTableName } from './nft-tool.ts'
import { ToolError } from './run-tool.ts'

export async function lookIntoNft(exec: Exec, looks: readonly IptablesLook[], signal: AbortSignal): Promise<Findings> {
  const tables = await tablesIfAny(exec, signal)
  const leftovers: Leftover[] = [...modeTableLeftovers(tables)]
  const problems: string[] = []
  for (const name of tables.filter(isOfIptables)) {
    const look = looks.find(({ variant, family }) => variant === 'nf_tables' && family === familyOf[name.family])
    if (look === undefined) continue
    const { tool, cleanup, unreadableTables } = look
    if (tool === undefined || unreadableTables.includes(name.table)) {
      const why = tool === undefined ? noTool : notOnlyIptables
      const problem = unreadableProblem(name, await nftTableShape(exec, name, signal), why)
      if (problem !== undefined) problems.push(problem)
    } else if (hasLeftovers(cleanup))
      leftovers.push(...emptyLeftovers(tool, name, await nftTableShape(exec, name, signal), cleanup))
  }
  return { leftovers, problems }
}

const familyOf: Readonly<Record<NftFamily, Family>> = { ip: 'ipv4', ip6: 'ipv6' }
const noTool = 'there is no iptables-nft to remove them with: install it'
const notOnlyIptables =
  'somebody has added rules there that iptables-nft cannot read: move those to a table of their own, then clean up again'

function isOfIptables(name: NftTableName): name is IptablesTableName {
  return cleanupTables.some((table) => table === name.table)
}

async function tablesIfAny(exec: Exec, signal: AbortSignal): Promise<readonly NftTableName[]> {
  try {
    return await listNftTables(exec, signal)
  } catch (error) {
    // Without the tool there was no proxy in nftables mode, and a kernel without nf_tables holds nothing in it.
    if (error instanceof ToolError && (error.reason === 'missing' || error.reason === 'unsupported')) return []
    throw error
  }
}

/** Empty tables are no proof of a proxy: where nothing else of one was found they may be anybody's. */
function hasLeftovers({ jumps, chains }: IptablesCleanup): boolean {
  return jumps.length > 0 || chains.length > 0
}
