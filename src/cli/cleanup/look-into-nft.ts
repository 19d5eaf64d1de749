/** Reads nf_tables with nft: its own tables, and those that iptables-nft keeps in it. */
import { cleanupTables } from '../../dataplane/iptables/cleanup/cleanup-plan.ts'
import type { IptablesCleanup } from '../../dataplane/iptables/cleanup/cleanup-plan.ts'
import type { Exec } from '../../dataplane/exec/exec.ts'
import { NetlinkError } from '../../dataplane/netlink/netlink-error.ts'
import type { Family } from '../../net/ip.ts'
import type { CleanupHost } from './cleanup-host.ts'
import type { Findings, Leftover, NftFamily } from './leftover.ts'
import type { IptablesLook } from './look-into-iptables.ts'
import { emptyLeftovers, modeTableLeftovers, unreadableProblem } from './nft-leftovers.ts'
import type { IptablesTableName } from './nft-leftovers.ts'
import { listNftTables, nftTableShape } from './nft-tool.ts'
import type { NftTableName } from './nft-tool.ts'
import { ToolError } from './run-tool.ts'

export async function lookIntoNft(
  host: Pick<CleanupHost, 'exec' | 'listTables'>,
  looks: readonly IptablesLook[],
  signal: AbortSignal,
): Promise<Findings> {
  const { exec } = host
  const tables = await tablesIfAny(exec, signal)
  if (tables === undefined) return { leftovers: [], problems: await tablesWithoutTool(host, signal) }
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
const noTool = 'iptables-nft, which removes them, is missing: install it'
const notOnlyIptables =
  'the table also has rules that iptables-nft cannot read: move those to a table of their own, then clean up again'

function isOfIptables(name: NftTableName): name is IptablesTableName {
  return cleanupTables.some((table) => table === name.table)
}

/** Undefined when there is no nft to ask. */
async function tablesIfAny(exec: Exec, signal: AbortSignal): Promise<readonly NftTableName[] | undefined> {
  try {
    return await listNftTables(exec, signal)
  } catch (error) {
    if (error instanceof ToolError && error.reason === 'missing') return undefined
    // A kernel without nf_tables holds nothing in it.
    if (error instanceof ToolError && error.reason === 'unsupported') return []
    throw error
  }
}

/** The tool may be in the image of the proxy that was, and not in ours; the kernel knows what is there. */
async function tablesWithoutTool(
  { listTables }: Pick<CleanupHost, 'listTables'>,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const tables = await listTables(signal).catch((error: unknown) => {
    // Then a proxy could not have made one either.
    if (error instanceof NetlinkError) return []
    throw error
  })
  const named = tables.map(({ family, name }): NftTableName => ({
    family: family === 'ipv4' ? 'ip' : 'ip6',
    table: name,
  }))
  return modeTableLeftovers(named).map(
    ({ family, table }) =>
      `nf_tables: table ${family} ${table} exists, but nft, which removes it, is missing: install it`,
  )
}

/** Empty tables are no proof of a proxy: where nothing else of one was found they may be anybody's. */
function hasLeftovers({ jumps, chains }: IptablesCleanup): boolean {
  return jumps.length > 0 || chains.length > 0
}
